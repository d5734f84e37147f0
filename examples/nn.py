"""A two-layer network, trained for 500 steps: 64 inputs of 1,000 numbers -> 100 -> 10.

Shows how much of a short training run is `import`, and which line of the step is the dear one.
With PyTorch installed it trains there, else the same network in NumPy (`train_numpy`).

    cairn run examples/nn.py
"""
BATCH, INPUTS, HIDDEN, OUTPUTS = 64, 1000, 100, 10
STEPS = 500
LEARNING_RATE = 1e-4


def train_torch(torch):
    torch.manual_seed(0)
    x = torch.randn(BATCH, INPUTS)
    y = torch.randn(BATCH, OUTPUTS)
    model = torch.nn.Sequential(
        torch.nn.Linear(INPUTS, HIDDEN),
        torch.nn.ReLU(),
        torch.nn.Linear(HIDDEN, OUTPUTS),
    )
    loss_function = torch.nn.MSELoss(reduction="sum")
    for _ in range(STEPS):
        y_pred = model(x)
        loss = loss_function(y_pred, y)
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for weights in model.parameters():
                weights -= LEARNING_RATE * weights.grad
    return loss.item()


def numpy_forward(x, w1, w2):
    hidden = x @ w1
    active = hidden * (hidden > 0)
    return hidden, active, active @ w2


def numpy_backward(x, hidden, active, w2, error):
    grad_out = 2.0 * error
    grad_w2 = active.T @ grad_out
    grad_hidden = grad_out @ w2.T
    grad_hidden[hidden < 0] = 0
    grad_w1 = x.T @ grad_hidden
    return grad_w1, grad_w2


def train_numpy(np):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((BATCH, INPUTS))
    y = rng.standard_normal((BATCH, OUTPUTS))
    w1 = rng.standard_normal((INPUTS, HIDDEN)) / INPUTS**0.5
    w2 = rng.standard_normal((HIDDEN, OUTPUTS)) / HIDDEN**0.5
    for _ in range(STEPS):
        hidden, active, y_pred = numpy_forward(x, w1, w2)
        error = y_pred - y
        loss = np.square(error).sum()
        grad_w1, grad_w2 = numpy_backward(x, hidden, active, w2, error)
        w1 -= LEARNING_RATE * grad_w1
        w2 -= LEARNING_RATE * grad_w2
    return float(loss)


def main():
    try:
        import torch
    except ImportError:
        import numpy

        print(f"numpy {numpy.__version__}: loss after {STEPS} steps {train_numpy(numpy):.3g}")
    else:
        print(f"torch {torch.__version__}: loss after {STEPS} steps {train_torch(torch):.3g}")


if __name__ == "__main__":
    main()
