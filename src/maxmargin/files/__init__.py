"""Reading and writing of data and models: one module for each format, imported on first use."""

from typing import TYPE_CHECKING

from maxmargin._lazy import lazy_names

_HOME_OF = {
    "written_atomically": "atomic",
    "write_onnx": "onnx_model",
    "store_text": "store_writing",
    "write_store": "store_writing",
    "open_store": "store",
    "Store": "store",
    "FileBlocks": "file_blocks",
    "read_blocks": "file_blocks",
    "StoreError": "store",
    "read_data": "data_file",
    "DataFile": "data_file",
    "TableOptions": "columns",
    "UnseenWarning": "columns",
    "Preparation": "preparation",
    "ModelFileError": "errors",
    "checkpoints": "checkpoint",
    "SvmlightError": "svmlight",
    "load": "model",
    "read_liblinear_model": "liblinear_model",
    "read_libsvm_model": "libsvm_model",
    "read_svmlight": "svmlight",
    "read_svmlight_blocks": "svmlight",
    "save": "model",
    "write_liblinear_model": "liblinear_model",
    "write_libsvm_model": "libsvm_model",
    "write_svmlight": "svmlight",
}

__all__ = sorted(_HOME_OF)

if TYPE_CHECKING:
    from maxmargin.files.atomic import written_atomically
    from maxmargin.files.checkpoint import checkpoints
    from maxmargin.files.columns import TableOptions, UnseenWarning
    from maxmargin.files.data_file import DataFile, read_data
    from maxmargin.files.errors import ModelFileError
    from maxmargin.files.file_blocks import FileBlocks, read_blocks
    from maxmargin.files.liblinear_model import read_liblinear_model, write_liblinear_model
    from maxmargin.files.libsvm_model import read_libsvm_model, write_libsvm_model
    from maxmargin.files.model import load, save
    from maxmargin.files.onnx_model import write_onnx
    from maxmargin.files.preparation import Preparation
    from maxmargin.files.store import Store, StoreError, open_store
    from maxmargin.files.store_writing import store_text, write_store
    from maxmargin.files.svmlight import SvmlightError, read_svmlight, read_svmlight_blocks, write_svmlight

__getattr__, __dir__ = lazy_names(__name__, _HOME_OF)
