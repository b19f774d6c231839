"""Looking at values between the calls of a training step."""

from __future__ import annotations

import numpy as np

from ._facts import attempt, batch, bound, contexts, convnet, mlp, script, trained


@script
def gradients_in_between(mx):
    """Gradients and outputs after forward_backward, and once more after update."""
    answers = {}
    for count in (1, 2):
        module = bound(mx, mlp(mx), context=contexts(mx, count))
        module.init_optimizer(optimizer_params={"learning_rate": 0.2, "momentum": 0.9})
        steps = []
        for step in range(3):
            module.forward_backward(batch(mx, step))
            group = module._exec_group
            before = [[g.asnumpy() for g in grads] for grads in group.grad_arrays]
            outputs = module.get_outputs()[0].asnumpy()
            module.update()
            after = [[g.asnumpy() for g in grads] for grads in group.grad_arrays]
            again = module.get_outputs()[0].asnumpy()
            weights = [w.asnumpy() for w in group.param_arrays[0]]
            steps.append((before, outputs, after, again, weights))
        answers[count] = steps
    return answers


@script
def parameters_in_between(mx):
    """Parameters written between backward and update, and read by get_params at any time."""
    module = bound(mx, mlp(mx))
    module.init_optimizer(optimizer_params={"learning_rate": 0.5})
    answers = [trained(module)]
    for step in range(3):
        module.forward_backward(batch(mx, step))
        module._exec_group.param_arrays[0][0][:] *= 0.5
        module.update()
        answers.append(trained(module))
        module._exec_group.grad_arrays[0][0][:] = 1
        module.update()
        answers.append(trained(module))
    return answers


@script
def outputs_before_backward(mx):
    """A loss computed from the outputs, before and instead of backward."""
    module = bound(mx, convnet(mx), (8, 1, 4, 4))
    module.init_optimizer(optimizer_params={"learning_rate": 0.1})
    answers = []
    for step in range(4):
        one = batch(mx, step, (8, 1, 4, 4))
        module.forward(one, is_train=True)
        output = module.get_outputs()[0].asnumpy()
        labels = one.label[0].asnumpy().astype(int)
        answers.append(-np.log(output[np.arange(8), labels]).mean())
        if step != 2:
            module.backward()
            module.update()
    return np.array(answers, np.float32), trained(module)


@script
def added_gradients(mx):
    answers = {}
    for count in (1, 2):
        module = bound(mx, mlp(mx), context=contexts(mx, count), grad_req="add")
        module.init_optimizer(optimizer_params={"learning_rate": 0.2, "momentum": 0.9})
        for step in range(6):
            module.forward_backward(batch(mx, step))
            if step % 2:
                module.update()
                for grads in module._exec_group.grad_arrays:
                    for grad in grads:
                        grad[:] = 0
        answers[count] = trained(module)
    return answers


@script
def gradient_requests(mx):
    answers = {}
    for name, request in {
        "null": "null",
        "dict": {"fc1_bias": "null", "fc2_weight": "add"},
        "list": ["null", "write", "null", "add", "null", "null"],
    }.items():
        module = bound(mx, mlp(mx), grad_req=request)
        module.init_optimizer(optimizer_params={"learning_rate": 0.2})
        for step in range(3):
            module.forward_backward(batch(mx, step))
            module.update()
        answers[name] = trained(module)
    return answers


@script
def input_gradients(mx):
    answers = {}
    for count in (1, 2):
        module = bound(mx, mlp(mx), context=contexts(mx, count), inputs_need_grad=True)
        module.init_optimizer()
        module.forward_backward(batch(mx, 0))
        merged = module.get_input_grads()
        per_device = module.get_input_grads(merge_multi_context=False)
        module.update()
        answers[count] = merged, per_device, module.get_outputs(False), module.get_input_grads()
    plain = bound(mx, mlp(mx))
    plain.forward_backward(batch(mx, 0))
    return answers, attempt(mx, plain.get_input_grads)


@script
def head_gradients(mx):
    net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=3, name="fc")
    answers = {}
    for count in (1, 2):
        module = mx.mod.Module(net, label_names=None, context=contexts(mx, count))
        module.bind([("data", (4, 2))])
        module.init_params(mx.init.One())
        module.init_optimizer(optimizer_params={"learning_rate": 0.1, "rescale_grad": 1.0})
        for step in range(2):
            module.forward(mx.io.DataBatch([mx.nd.ones((4, 2)) * (step + 1)]))
            module.backward([mx.nd.array(np.arange(12).reshape(4, 3))])
            module.update()
        answers[count] = trained(module)
    return answers


@script
def monitored(mx):
    module = bound(mx, mlp(mx))
    module.init_optimizer(optimizer_params={"learning_rate": 0.2})
    monitor = mx.mon.Monitor(2, stat_func=lambda x: mx.nd.norm(x), pattern=".*fc.*", sort=True)
    module.install_monitor(monitor)
    answers = []
    for step in range(4):
        monitor.tic()
        module.forward_backward(batch(mx, step))
        module.update()
        entries = [e for e in monitor.toc() if "backward" not in e[1]]
        answers.append([(n, name, round(float(text), 3)) for n, name, text in entries])
    return answers, trained(module)
