"""Streamlit runtime without a page, bound to localhost; import it before any module of ``webapp``.

Without a runtime, every cached function logs a warning when it is defined; on any address but localhost, users would
have to sign in.
"""

from streamlit.config import set_option
from streamlit.runtime import Runtime, RuntimeConfig
from streamlit.runtime.caching.storage.dummy_cache_storage import MemoryCacheStorageManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

set_option("server.address", "127.0.0.1")
Runtime(
    RuntimeConfig(
        script_path="",
        media_file_storage=MemoryMediaFileStorage("/media"),
        uploaded_file_manager=MemoryUploadedFileManager("/uploads"),
        cache_storage_manager=MemoryCacheStorageManager(),
    )
)
