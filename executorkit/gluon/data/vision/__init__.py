"""``mx.gluon.data.vision``: datasets of pictures, and transforms of pictures."""

from . import datasets as datasets, transforms as transforms
from .datasets import (
    CIFAR10 as CIFAR10,
    CIFAR100 as CIFAR100,
    MNIST as MNIST,
    FashionMNIST as FashionMNIST,
    ImageFolderDataset as ImageFolderDataset,
    ImageListDataset as ImageListDataset,
    ImageRecordDataset as ImageRecordDataset,
)
