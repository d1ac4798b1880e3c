#!/usr/bin/python3
"""Train the demo's digit classifier and write digits.onnx and digit.png beside this script.

    apt-get install python3-torch python3-sklearn python3-pil
    /usr/bin/python3 demo/train_digits.py

Data: scikit-learn's handwritten digits (1,797 images of 8x8, public). Every fifth image is held out: the
accuracy printed at the end is measured on those, and digit.png is one of them. Training images are
turned, shifted, scaled and made thinner or bolder, so that a digit drawn elsewhere is read as well.
"""
import pathlib

import numpy as np
import torch
from PIL import Image
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

HERE = pathlib.Path(__file__).resolve().parent
SIDE = 28
torch.manual_seed(1)


def enlarge(images, theta=None):
    """[N,8,8] in 0..1 to [N,1,28,28] with a margin; theta moves each image."""
    if theta is None:
        theta = torch.tensor([[1.15, 0, 0], [0, 1.15, 0]]).repeat(len(images), 1, 1)
    grid = F.affine_grid(theta, (len(images), 1, SIDE, SIDE), align_corners=False)
    return F.grid_sample(images[:, None], grid, mode="bicubic", align_corners=False).clamp(0, 1)


def disturb(images):
    n = len(images)
    angle = (torch.rand(n) - 0.5) * 0.5
    scale = 0.95 + 0.45 * torch.rand(n)
    stretch = 0.85 + 0.3 * torch.rand(n)
    shift = (torch.rand(n, 2) - 0.5) * 0.4
    cos, sin = torch.cos(angle) * scale, torch.sin(angle) * scale
    theta = torch.stack([torch.stack([cos * stretch, -sin, shift[:, 0]], 1), torch.stack([sin * stretch, cos, shift[:, 1]], 1)], 1)
    x = enlarge(images, theta)
    ink = (0.7 + 0.9 * torch.rand(n, 1, 1, 1)) * x
    return (ink + 0.03 * torch.randn_like(x)).clamp(0, 1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        def block(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU())
        self.body = nn.Sequential(block(1, 16), nn.MaxPool2d(2), block(16, 32), block(32, 32), nn.MaxPool2d(2), block(32, 64))
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        return self.head(F.dropout(self.body(x).amax((2, 3)), 0.2, self.training))


def main():
    digits = load_digits()
    images = torch.tensor(digits.images / 16, dtype=torch.float32)
    labels = torch.tensor(digits.target)
    held = torch.arange(len(images)) % 5 == 4
    train_x, train_y, test_x, test_y = images[~held], labels[~held], enlarge(images[held]), labels[held]

    net, epochs = Net(), 60
    optimizer = torch.optim.AdamW(net.parameters(), 3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, epochs=epochs, steps_per_epoch=-(-len(train_x) // 64))
    for epoch in range(epochs):
        net.train()
        for batch in torch.randperm(len(train_x)).split(64):
            loss = F.cross_entropy(net(disturb(train_x[batch])), train_y[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    net.eval()
    with torch.no_grad():
        guess = net(test_x).argmax(1)
    print(f"held-out accuracy: {(guess == test_y).float().mean():.4f} of {len(test_y)} images")

    model = nn.Sequential(net, nn.Softmax(1)).eval()
    torch.onnx.export(model, torch.zeros(1, 1, SIDE, SIDE), str(HERE / "digits.onnx"), input_names=["image"],
                      output_names=["probabilities"], dynamic_axes={"image": {0: "batch"}, "probabilities": {0: "batch"}},
                      opset_version=16)

    index = int(np.flatnonzero((test_y == 3).numpy() & (guess == 3).numpy())[9])
    picture = Image.fromarray((255 - 255 * images[held][index].numpy()).astype(np.uint8))
    framed = Image.new("L", (10, 10), 255)
    framed.paste(picture, (1, 1))
    framed.resize((280, 280), Image.BICUBIC).save(HERE / "digit.png", optimize=True)


if __name__ == "__main__":
    main()
