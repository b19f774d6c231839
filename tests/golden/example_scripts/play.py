"""Agents that learn by playing: Q-learning with a target network, policies with executors."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._facts import fill, numbers, numpy_of, script


class _Walk:
    """A walk on five places: the ends pay -1 and 1."""

    def __init__(self) -> None:
        self.place = 2

    def observation(self) -> np.ndarray:
        return np.eye(5, dtype=np.float32)[self.place]

    def step(self, action: int) -> tuple[float, bool]:
        self.place += 1 if action else -1
        over = self.place in (0, 4)
        reward = float(over) * (1 if self.place == 4 else -1)
        if over:
            self.place = 2
        return reward, over


def _register_chosen_action(mx: Any) -> None:
    """Registers ``chosen_action``, the loss of the action that was taken."""

    class ChosenAction(mx.operator.CustomOp):
        """Passes scores on; its gradient is the clipped error of the chosen action."""

        def forward(self, is_train, req, in_data, out_data, aux):
            self.assign(out_data[0], req[0], in_data[0])

        def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
            score, action, reward = out_data[0].asnumpy(), *(a.asnumpy() for a in in_data[1:])
            rows = np.arange(len(action))
            gradient = np.zeros_like(score)
            error = score[rows, action.astype(int)] - reward
            gradient[rows, action.astype(int)] = np.clip(error, -1, 1)
            self.assign(in_grad[0], req[0], mx.nd.array(gradient))

    @mx.operator.register("chosen_action")
    class ChosenActionProp(mx.operator.CustomOpProp):
        def __init__(self):
            super().__init__(need_top_grad=False)

        def list_arguments(self):
            return ["data", "action", "reward"]

        def infer_shape(self, in_shape):
            rows = in_shape[0][:1]
            return [in_shape[0], rows, rows], [in_shape[0]], []

        def create_operator(self, ctx, shapes, dtypes):
            return ChosenAction()


@script
def q_learning_with_a_replay_memory(mx):
    """The loss is an operator in Python; a second executor holds the target network."""

    _register_chosen_action(mx)

    def network(loss: bool) -> Any:
        x = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=6, name="fc1")
        x = mx.sym.FullyConnected(mx.sym.Activation(x, act_type="relu"), num_hidden=2, name="fc2")
        if not loss:
            return x
        names = (mx.sym.Variable(n) for n in ("action", "reward"))
        return mx.sym.Custom(x, *names, op_type="chosen_action", name="dqn")

    inputs = {"data": (8, 5), "action": (8,), "reward": (8,)}
    requests = {n: "null" if n in inputs else "write" for n in network(True).list_arguments()}
    learner = fill(network(True).simple_bind(mx.cpu(), requests, **inputs), inputs)
    target = network(False).simple_bind(mx.cpu(), "null", data=(8, 5))
    player = target.reshape(data=(1, 5))
    params = {n: learner.arg_dict[n] for n in requests if n not in inputs}
    target.copy_params_from(params, allow_extra_params=True)
    updater = mx.optimizer.get_updater(mx.optimizer.create("adagrad", learning_rate=0.05))
    random, walk, memory = np.random.RandomState(2), _Walk(), []
    losses = []
    for step in range(40):
        seen = walk.observation()
        (score,) = player.forward(is_train=False, data=mx.nd.array(seen[None]))
        greedy = int(score.asnumpy().argmax())
        action = random.randint(2) if random.rand() < 0.3 else greedy
        reward, over = walk.step(action)
        memory.append((seen, action, reward, walk.observation(), over))
        if step < 15 or step % 4:
            continue
        chosen = [memory[i] for i in random.randint(len(memory), size=8)]
        states, actions, rewards, following, ends = (
            np.array(c, np.float32) for c in zip(*chosen, strict=True)
        )
        (ahead,) = target.forward(is_train=False, data=mx.nd.array(following))
        wanted = rewards + 0.9 * (1 - ends) * ahead.asnumpy().max(1)
        learner.forward(
            is_train=True, data=mx.nd.array(states), action=mx.nd.array(actions),
            reward=mx.nd.array(wanted),
        )  # fmt: skip
        learner.backward()
        for index, name in enumerate(params):
            updater(index, learner.grad_dict[name], learner.arg_dict[name])
        scores = learner.outputs[0].asnumpy()[np.arange(8), actions.astype(int)]
        losses.append(float(((scores - wanted) ** 2).mean()))
        if step % 8 == 0:
            target.copy_params_from(params, allow_extra_params=True)
    return losses, [m[1] for m in memory], numpy_of(params)


@script
def policy_by_reinforcement(mx):
    """Policy and value share a body; gradients of whole games are added up before an update."""
    body = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=5, name="body")
    body = mx.sym.Activation(body, act_type="tanh")
    policy = mx.sym.FullyConnected(body, num_hidden=2, name="policy")
    probability = mx.sym.SoftmaxActivation(policy, name="probability")
    value = mx.sym.FullyConnected(body, num_hidden=1, name="value")
    log_policy = mx.sym.log_softmax(policy)
    entropy = -mx.sym.sum(probability * log_policy, axis=1)
    chosen = mx.sym.sum(log_policy * mx.sym.one_hot(mx.sym.Variable("action"), depth=2), axis=1)
    advantage = mx.sym.Variable("advantage")
    loss = mx.sym.MakeLoss(-chosen * mx.sym.BlockGrad(advantage) - 0.01 * entropy, name="loss")
    critic = mx.sym.LinearRegressionOutput(value, name="critic", grad_scale=0.5)
    net = mx.sym.Group([mx.sym.BlockGrad(probability), mx.sym.BlockGrad(value), loss, critic])
    shapes = {"data": (1, 5), "action": (1,), "advantage": (1,)}
    requests = {n: "null" if n in (*shapes, "critic_label") else "add"
                for n in net.list_arguments()}  # fmt: skip
    player = fill(net.simple_bind(mx.cpu(), requests, **shapes), (*shapes, "critic_label"))
    names = [n for n, r in requests.items() if r == "add"]
    updater = mx.optimizer.get_updater(
        mx.optimizer.create("sgd", learning_rate=0.2, momentum=0.5, clip_gradient=1.0)
    )
    random, walk, answers = np.random.RandomState(4), _Walk(), []
    for _ in range(2):
        game, over = [], False
        while not over and len(game) < 10:
            seen = walk.observation()
            outputs = player.forward(is_train=False, data=mx.nd.array(seen[None]))
            chance = outputs[0].asnumpy()[0]
            action = int(random.rand() < chance[1])
            reward, over = walk.step(action)
            game.append((seen, action, reward, float(outputs[1].asscalar())))
        total = 0.0
        for gradient in player.grad_dict.values():
            if gradient is not None:
                gradient[:] = 0
        longer = player.reshape(
            allow_up_sizing=True, partial_shaping=True,
            data=(len(game), 5), action=(len(game),), advantage=(len(game),),
            critic_label=(len(game), 1),
        )  # fmt: skip
        returns = []
        for _, _, reward, _ in reversed(game):
            total = reward + 0.9 * total
            returns.append(total)
        returns = np.array(returns[::-1], np.float32)
        values = np.array([g[3] for g in game], np.float32)
        longer.arg_dict["data"][:] = np.array([g[0] for g in game])
        longer.arg_dict["action"][:] = [g[1] for g in game]
        longer.arg_dict["advantage"][:] = returns - values
        longer.arg_dict["critic_label"][:] = returns[:, None]
        longer.forward(is_train=True)
        longer.backward()
        answers.append([len(game), float(returns[0]), longer.outputs[2].asnumpy()])
        for index, name in enumerate(names):
            updater(index, player.grad_dict[name], player.arg_dict[name])
    return answers, numpy_of({n: player.arg_dict[n] for n in names})


@script
def actor_and_critic_of_continuous_actions(mx):
    """An actor learns through its critic; both have slowly moving copies."""

    def actor_network(data: Any) -> Any:
        x = mx.sym.FullyConnected(data, num_hidden=4, name="actor1")
        x = mx.sym.FullyConnected(mx.sym.tanh(x), num_hidden=1, name="actor2")
        return mx.sym.tanh(x, name="act")

    def critic_network(data: Any, action: Any) -> Any:
        x = mx.sym.FullyConnected(mx.sym.Concat(data, action, dim=1), num_hidden=4, name="critic1")
        return mx.sym.FullyConnected(mx.sym.tanh(x), num_hidden=1, name="critic2")

    data, action = mx.sym.Variable("data"), mx.sym.Variable("action")
    critic = mx.sym.LinearRegressionOutput(critic_network(data, action), name="q")
    actor = actor_network(data)
    through = mx.sym.MakeLoss(-mx.sym.mean(critic_network(data, actor)), name="gain")
    rows = 6
    learner = critic.simple_bind(mx.cpu(), data=(rows, 3), action=(rows, 1))
    fill(learner, ("data", "action", "q_label"))
    weights = [n for n in through.list_arguments() if n.startswith("actor")]
    requests = {n: "write" if n in weights else "null" for n in through.list_arguments()}
    both = through.simple_bind(mx.cpu(), requests, data=(rows, 3))
    fill(both, ("data",))
    slow = {n: a.copy() for n, a in {**learner.arg_dict, **both.arg_dict}.items()}
    update_critic, update_actor = (
        mx.optimizer.get_updater(mx.optimizer.create("adam", learning_rate=0.02)) for _ in range(2)
    )
    future = critic_network(data, actor_network(data))
    target = future.bind(mx.cpu(), {n: slow[n] for n in future.list_arguments()}, grad_req="null")
    seen = []
    for step in range(4):
        states, following = (numbers(f"{n} {step}", (rows, 3)) for n in ("state", "next"))
        tried = np.tanh(numbers(f"tried {step}", (rows, 1)))
        reward = -((tried - states[:, :1] / 2) ** 2)
        target.arg_dict["data"][:] = following
        wanted = mx.nd.array(reward) + 0.9 * target.forward(is_train=False)[0]
        wanted = wanted.reshape((-1,))
        learner.forward(is_train=True, data=mx.nd.array(states), action=mx.nd.array(tried),
                        q_label=wanted)  # fmt: skip
        learner.backward()
        critics = [n for n in learner.arg_dict if n.startswith("critic")]
        for index, name in enumerate(critics):
            update_critic(index, learner.grad_dict[name], learner.arg_dict[name])
            learner.arg_dict[name].copyto(both.arg_dict[name])
        both.forward(is_train=True, data=mx.nd.array(states))
        both.backward()
        for index, name in enumerate(weights):
            update_actor(index, both.grad_dict[name], both.arg_dict[name])
        for name in (*critics, *weights):
            slow[name][:] = 0.9 * slow[name] + 0.1 * both.arg_dict[name]
        error = learner.outputs[0].reshape((-1,)) - wanted
        error = float((error**2).mean().asscalar())
        seen.append([error, float(both.outputs[0].asscalar())])
    return seen, numpy_of({n: slow[n] for n in weights})
