"""``mx.gluon.rnn.rnn_layer``: MXNet's import path of recurrent layers."""

from ._recurrent_layers import GRU as GRU, LSTM as LSTM, RNN as RNN, _RNNLayer as _RNNLayer
