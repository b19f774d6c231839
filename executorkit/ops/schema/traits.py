"""Traits: properties of operators that passes and compilers ask for, instead of lists of names.

An operator states its traits where it is registered (``register(..., traits=...)``); a user's
operator that states one is treated like MXNet's own.
"""

#: Multiplies matrices: repeated blocks with such an operator are worth re-rolling into a loop.
MATMUL = "matmul"
#: Linear in each input that all iterations of a loop share (a weight, a bias), with one output: its
#: gradient by such an input is computed once for all iterations.
SHARED_PRODUCT = "shared_product"
#: Multiplies data by its second input, transposed, from the right.
TRANSPOSED_WEIGHT = "transposed_weight"
#: A convolution, which XLA's CPU compiler has options of its own for.
CONVOLUTION = "convolution"
#: A layer that is linear in ``weight``, with the filters on its first axis: ``bias`` is added to
#: them, and a factor for each filter of the result can be a part of the weight.
FILTERS_FIRST = "filters_first"
#: The same with the filters of a group on the weight's second axis; on its last one, channels last.
FILTERS_SECOND = "filters_second"
#: Computes ``gamma (data - mean) / sqrt(var + eps) + beta`` per channel of ``axis`` (by default 1)
#: in inference; its inputs are data, gamma, beta and the moving statistics mean and var.
MOVING_STATISTICS = "moving_statistics"
#: In training with ``ndev`` above 1 its statistics run over all devices of one program.
SPANS_DEVICES = "spans_devices"
#: A loop, which stacks values of all its iterations.
LOOP = "loop"
#: Computes with optimization barriers that the compiler has to respect.
BARRIERS = "barriers"
#: Cuts data into equal parts along ``axis``.
SPLIT = "split"
#: Cuts entries out of axes of its first input; its output has the same axes.
CUTS_AXES = "cuts_axes"
#: Joins its inputs along the existing axis ``dim``.
CONCAT = "concat"
#: Joins its inputs along the new axis ``axis``.
STACK = "stack"
#: Returns its input unchanged.
IDENTITY = "identity"
#: A cast that mixed precision has put into the graph.
AMP_CAST = "amp_cast"
#: Its single input is called ``data`` in MXNet; otherwise a single input has no name there.
NAMED_DATA = "named_data"

#: Its input ``label`` is read by its gradient only, and may be absent where none is taken.
LABEL_FOR_GRADIENT = "label_for_gradient"
#: The shape of its output depends on the values of its inputs: on arrays it runs uncompiled.
NEEDS_VALUES = "needs_values"
#: It decides something in Python by an attribute that is a number (``scalar``, ``lr``), which other
#: operators on arrays take as a value, so that a changing number compiles nothing.
NEEDS_NUMBERS = "needs_numbers"
#: The gradients of its inputs are zero.
STOPS_GRADIENT = "stops_gradient"
#: Those of integer inputs are zero; of others they are not.
STOPS_INTEGER_GRADIENT = "stops_integer_gradient"
#: Each entry of its result comes from one entry of each input, stretched as in broadcasting; the
#: derivative by an integer is truncated before it is multiplied by the head gradient.
TRUNCATES_DERIVATIVE = "truncates_derivative"

#: Exists for arrays only: it changes its auxiliary inputs when it is called; graphs refuse it.
MUTATES = "mutates"
#: Calls back into Python, so that its forward must run when it is asked for.
CALLS_PYTHON = "calls_python"
#: MXNet learns the output shapes only when it runs, so that inference of shapes answers that they
#: are unknown (binding knows them all the same).
DYNAMIC_SHAPE = "dynamic_shape"
#: Its auxiliary states are its subgraphs'.
INNER_STATES = "inner_states"
#: Attributes that it does not have are ignored, as always where an operator has none.
IGNORES_UNKNOWN = "ignores_unknown"

ALL_TRAITS = frozenset(value for name, value in tuple(globals().items()) if name.isupper())

#: Operators of MXNet's older interface: the results of their backward are called after the inputs.
NAMED_GRADIENTS = frozenset({
    "BilinearSampler", "Correlation", "Crop", "GridGenerator", "IdentityAttachKLSparseReg",
    "InstanceNorm", "L2Normalization", "MakeLoss", "Pad", "ROIPooling", "SVMOutput", "SequenceLast",
    "SequenceMask", "SequenceReverse", "SliceChannel", "SpatialTransformer", "SwapAxis",
})  # fmt: skip
#: Operators without a backward in MXNet: the gradient of a sum is passed on.
SUMS = frozenset({"add_n", "elemwise_add"})
