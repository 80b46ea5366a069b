"""What Python names can do beyond computing: the tables that code is classified by.

Each entry maps a name to what it does, in words for the person who is asked. Modules that people mostly
compute with (``os``, ``sys``, ``shutil`` …) are listed the other way round, by what is harmless in them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

__all__ = [
    "ALLOWED_PARTS",
    "BUILTINS",
    "CONVENTIONAL",
    "CORE_MODULES",
    "DATA_METHODS",
    "DUNDERS_ALLOWED",
    "FRAME_ATTRIBUTES",
    "FUNCTIONS",
    "HARMLESS_MODULES",
    "METHODS",
    "METHOD_PREFIXES",
    "MODULES",
    "PATH_METHODS",
    "READERS",
    "URL",
    "WRITERS_WITH_PATH",
]

_PROCESS = "starts or steers processes"
_NETWORK = "uses the network"
_DYNAMIC = "runs code that cannot be seen here"
_THREADS = "runs code in other threads or processes"
_WRITES = "writes a file"
_DELETES = "deletes files"
_MOVES = "moves or renames files"
_INTERPRETER = "changes the interpreter"
_SECRETS = "reads secrets"
_INPUT = "waits for input"
_KERNEL = "reaches into the kernel"
_PICKLE = "loads a pickle, which runs the code in it"
_DATABASE = "opens a database"
_INSTALLS = "installs packages"


def _table(*groups: tuple[str, str]) -> dict[str, str]:
    """Build ``{name: why}`` from pairs of a reason and its names in one text."""
    return {name: why for why, names in groups for name in names.split()}


MODULES: Final[Mapping[str, str]] = _table(
    (
        _PROCESS,
        "subprocess pty pexpect ptyprocess sh plumbum invoke fabric docker asyncio.subprocess signal posix nt "
        "_posixsubprocess _winapi winreg msvcrt fcntl termios tty atexit",
    ),
    (_THREADS, "threading _thread multiprocessing concurrent.futures billiard torch.multiprocessing"),
    (
        _NETWORK,
        "socket _socket socketserver ssl http urllib urllib3 ftplib smtplib poplib imaplib nntplib telnetlib xmlrpc "
        "webbrowser antigravity requests httpx aiohttp httplib2 pycurl websocket websockets grpc paramiko asyncssh "
        "boto3 botocore aiobotocore s3fs gcsfs adlfs fsspec smart_open google.cloud google.colab google.auth azure "
        "minio openai anthropic cohere huggingface_hub kaggle kagglehub gdown wget yfinance pandas_datareader tweepy "
        "selenium playwright scrapy mechanize zmq nats pika kafka elasticsearch opensearchpy redis pymongo motor "
        "psycopg psycopg2 asyncpg pymysql MySQLdb mysql cx_Oracle oracledb pyodbc snowflake databricks clickhouse_driver "
        "pymssql cassandra neo4j ldap3 slack_sdk telegram discord twilio sendgrid wandb mlflow neptune comet_ml "
        "feedparser wikipedia osmnx cdsapi earthaccess ee pystac_client dns scapy logging.handlers torch.hub",
    ),
    (
        _DYNAMIC,
        "importlib imp runpy code codeop pdb bdb pkgutil pydoc zipimport marshal ctypes _ctypes cffi copyreg timeit "
        "cProfile profile trace doctest unittest numpy.ctypeslib numpy.f2py papermill nbclient nbconvert",
    ),
    (_INTERPRETER, "builtins __builtin__ __main__ site sitecustomize logging.config faulthandler"),
    (_INSTALLS, "pip ensurepip venv setuptools distutils pkg_resources conda uv"),
    (_SECRETS, "keyring getpass netrc dotenv"),
    (_KERNEL, "zidane_lab IPython ipykernel jupyter_client jupyter_core jupyter_server comm debugpy"),
    (_WRITES, "fileinput shelve dbm py_compile compileall zipapp mailbox sqlite_utils"),
)
"""Modules with no use but the one told: importing or using any part of them asks."""

HARMLESS_MODULES: Final = frozenset(
    """urllib.parse urllib.error http.HTTPStatus importlib.metadata importlib.resources importlib.util.find_spec
    IPython.display IPython.__version__ IPython.version_info code.co_name google.protobuf timeit.default_timer
    multiprocessing.cpu_count""".split()
)
"""Parts of the modules above that only compute."""

ALLOWED_PARTS: Final[Mapping[str, frozenset[str]]] = {
    "os": frozenset(
        """path getcwd getcwdb listdir scandir walk fwalk stat lstat fstat stat_result cpu_count sep altsep extsep
        pathsep linesep curdir pardir name devnull getpid getppid getlogin fspath fsencode fsdecode PathLike access
        R_OK W_OK X_OK F_OK uname statvfs get_terminal_size getloadavg times error strerror readlink DirEntry
        supports_follow_symlinks urandom""".split()
    ),
    "sys": frozenset(
        """version version_info platform executable argv getsizeof maxsize float_info byteorder stdout stderr path
        getrecursionlimit implementation stdlib_module_names builtin_module_names getdefaultencoding
        getfilesystemencoding getrefcount hash_info int_info prefix base_prefix exec_prefix intern flags
        api_version hexversion exc_info copyright float_repr_style maxunicode thread_info""".split()
    ),
    "shutil": frozenset({"disk_usage", "which", "get_terminal_size", "Error"}),
    "tempfile": frozenset({"gettempdir", "gettempprefix"}),
    "pickle": frozenset({"dumps", "HIGHEST_PROTOCOL", "DEFAULT_PROTOCOL", "PickleError", "PicklingError"}),
    "cloudpickle": frozenset({"dumps"}),
    "dill": frozenset({"dumps"}),
    "joblib": frozenset({"hash", "cpu_count", "__version__"}),
    "types": frozenset(
        """SimpleNamespace MappingProxyType GenericAlias UnionType NoneType EllipsisType NotImplementedType
        GeneratorType LambdaType MethodType BuiltinFunctionType TracebackType DynamicClassAttribute""".split()
    ),
    "gc": frozenset({"collect", "get_count", "get_stats", "isenabled", "get_threshold"}),
}
"""Modules of which only these parts go unasked."""

CORE_MODULES: Final = frozenset(
    """os sys shutil subprocess builtins importlib socket ctypes posix nt requests httpx urllib multiprocessing
    threading signal pickle tempfile runpy pty zidane_lab""".split()
)
"""Modules that may not be handed on as values or hidden under another name, where their use could not be seen."""

FUNCTIONS: Final[Mapping[str, str]] = _table(
    (_DYNAMIC, "yaml.load yaml.load_all yaml.unsafe_load yaml.full_load operator.attrgetter operator.methodcaller"),
    (_DYNAMIC, "inspect.currentframe inspect.stack inspect.trace inspect.getouterframes inspect.getinnerframes"),
    (_DYNAMIC, "sympy.sympify sympy.parse_expr sympy.parsing numexpr.evaluate jinja2.Template string.Formatter"),
    (_PICKLE, "torch.load pandas.read_pickle sklearn.externals.joblib"),
    (_SECRETS, "os.path.expandvars pandas.read_clipboard pyperclip.paste psutil.Process.environ"),
    (_INTERPRETER, "warnings.showwarning gc.set_debug sys.path.append sys.path.insert sys.path.extend sys.path.remove"),
    (_INTERPRETER, "sys.path.clear sys.path.pop linecache.cache"),
    (_NETWORK, "seaborn.load_dataset seaborn.get_dataset_names nltk.download torch.hub.load datasets.load_dataset"),
    (_NETWORK, "statsmodels.datasets.get_rdataset sm.datasets.get_rdataset spacy.cli tensorflow_datasets.load"),
    (_NETWORK, "asyncio.open_connection asyncio.start_server asyncio.open_unix_connection psutil.net_connections"),
    (_NETWORK, "IPython.display.IFrame IPython.display.YouTubeVideo IPython.display.VimeoVideo"),
    ("runs JavaScript in the browser", "IPython.display.Javascript IPython.display.display_javascript"),
    (_THREADS, "asyncio.to_thread joblib.Parallel"),
    (_WRITES, "logging.FileHandler pandas.ExcelWriter pandas.HDFStore numpy.DataSource io.FileIO io.open_code"),
    (_WRITES, "matplotlib.backends.backend_pdf.PdfPages matplotlib.pyplot.savefig keras.utils.get_file"),
    (_DATABASE, "sqlalchemy.create_engine sqlalchemy.create_async_engine"),
)
"""Functions and classes by their full name; :data:`METHODS` holds what is recognised whatever it is called on."""

BUILTINS: Final[Mapping[str, str]] = _table(
    ("hands on `open`, so its mode cannot be seen", "open"),
    (_DYNAMIC, "eval exec compile __import__ getattr setattr delattr globals locals __builtins__ __loader__ __spec__"),
    (_INPUT, "input breakpoint"),
    ("ends the kernel", "exit quit SystemExit"),
    (_KERNEL, "get_ipython"),
)
"""Built-in names that ask when they are not called in a way that shows what they do."""

METHODS: Final[Mapping[str, str]] = _table(
    (_WRITES, "write writelines write_text write_bytes writeStream savefig imsave imwrite savetxt savez savemat save"),
    (_WRITES, "savez_compressed tofile dump mkdir makedirs touch mkstemp mkdtemp mkfifo mknod symlink_to hardlink_to"),
    (_WRITES, "symlink link link_to extractall FileHandler RotatingFileHandler TimedRotatingFileHandler SummaryWriter"),
    (_WRITES, "PdfPages ExcelWriter HDFStore ModelCheckpoint TensorBoard CSVLogger NamedTemporaryFile TemporaryFile"),
    (_WRITES, "TemporaryDirectory copyfile copytree copyfileobj copy2 copymode make_archive unpack_archive savefigs"),
    (
        _WRITES,
        "chmod lchmod fchmod chown lchown to_pickle to_excel to_sql to_hdf to_stata to_gbq to_clipboard to_feather",
    ),
    (
        _WRITES,
        "to_netcdf to_zarr to_delta to_iceberg to_file to_postgis to_avro to_disk to_gif to_mp4 to_video saveAsTable",
    ),
    (_WRITES, "insertInto save_model print_figure print_png print_pdf executescript executemany commit"),
    (_DELETES, "unlink rmdir rmtree removedirs send2trash"),
    (_MOVES, "renames copy_into move_into"),
    (
        _PROCESS,
        "system popen Popen check_output check_call getoutput getstatusoutput getoutput_s startfile posix_spawn",
    ),
    (
        _PROCESS,
        "posix_spawnp spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe execl execle execlp execlpe",
    ),
    (
        _PROCESS,
        "execv execve execvp execvpe fork forkpty create_subprocess_exec create_subprocess_shell subprocess_exec",
    ),
    (_PROCESS, "subprocess_shell kill killpg terminate send_signal _exit abort"),
    (_THREADS, "run_in_executor ThreadPoolExecutor ProcessPoolExecutor ThreadPool"),
    (
        _NETWORK,
        "urlopen urlretrieve download upload sendall sendto sendmail create_connection fetch_openml from_pretrained",
    ),
    (
        _NETWORK,
        "push_to_hub hf_hub_download snapshot_download get_rdataset load_dataset read_gbq upload_file upload_fileobj",
    ),
    (
        _KERNEL,
        "run_line_magic run_cell_magic run_cell run_cell_async run_code user_ns user_global_ns do_shutdown safe_execfile",
    ),
    (_KERNEL, "set_next_input register_magic_function input_transformers_cleanup ast_transformers"),
    (_DYNAMIC, "import_module load_module exec_module spec_from_file_location FunctionType CodeType"),
    (_PICKLE, "read_pickle Unpickler"),
    (_SECRETS, "environ environb getenv getenvb"),
)
"""Attributes that ask on whatever object they are looked up."""

METHOD_PREFIXES: Final[Mapping[str, str]] = {
    "write_": _WRITES,
    "sink_": _WRITES,
    "save_": _WRITES,
    "download_": _NETWORK,
    "upload_": _NETWORK,
    "fetch_": _NETWORK,
}

WRITERS_WITH_PATH: Final = frozenset(
    "to_csv to_json to_parquet to_orc to_html to_xml to_latex to_markdown to_string to_ndjson to_ipc".split()
)
"""Methods that return their text unless they are given somewhere to write it."""

PATH_METHODS: Final = frozenset("open rename replace move copy".split())
"""Methods that files have and data have, too: judged by their arguments, and not to be handed on."""

DATA_METHODS: Final = frozenset(
    """T agg aggregate apply assign astype collect concat corr count cumsum describe diff drop drop_duplicates dropna
    explode fillna filter group_by groupby head idxmax idxmin iloc lazy loc map max mean median melt merge min nunique
    pct_change pivot pivot_table quantile query rank reset_index resample rolling sample select set_index shift size
    sort sort_values stack std str sum tail to_frame to_pandas to_series transform unique unstack value_counts var
    with_columns format strip lower upper""".split()
)
"""Methods and attributes of tables and text that no path has: what comes from them is data."""

CONVENTIONAL: Final[Mapping[str, str]] = {
    "alt": "altair",
    "go": "plotly.graph_objects",
    "mpl": "matplotlib",
    "np": "numpy",
    "pa": "pyarrow",
    "pd": "pandas",
    "pl": "polars",
    "plt": "matplotlib.pyplot",
    "px": "plotly.express",
    "sm": "statsmodels.api",
    "sns": "seaborn",
    "tf": "tensorflow",
    "xr": "xarray",
}
"""What a short name stands for when nothing else is known of it."""

DUNDERS_ALLOWED: Final = frozenset(
    """__class__ __name__ __qualname__ __module__ __doc__ __version__ __file__ __path__ __all__ __annotations__ __len__
    __init__ __post_init__ __new__ __repr__ __str__ __eq__ __hash__ __iter__ __next__ __enter__ __exit__ __contains__
    __array__ __dataclass_fields__ __slots__ __members__ __getitem__ __add__ __mul__ __sub__ __lt__ __gt__ __le__
    __ge__ __ne__ __neg__ __abs__ __float__ __int__ __bool__ __wrapped__ __cause__ __context__ __notes__ __main__
    __set_name__ __init_subclass__ __or__ __and__ __xor__ __invert__ __format__ __truediv__ __matmul__
    __array_interface__ __dataframe__ __package__ __required_keys__ __optional_keys__ __set__""".split()
)
"""Double-underscore attributes that lead nowhere dangerous; every other one asks."""

FRAME_ATTRIBUTES: Final = frozenset(
    """f_globals f_locals f_builtins f_back tb_frame tb_next gi_frame gi_code cr_frame cr_code ag_frame func_globals
    func_code co_code""".split()
)

READERS: Final = re.compile(
    r"^(?:read|load|open|scan|fetch|get|imread|from|parse|retrieve|request|stream|Image|Audio)(?:_|$)"
)
"""Functions that take a path or an address."""

URL: Final = re.compile(
    r"^\s*(?:https?|ftps?|sftp|ssh|scp|s3a?|s3n|gs|gcs|abfss?|wasbs?|adl|az|hdfs|webhdfs|hf|github|wss?|smb|"
    r"postgres\w*(?:\+\w+)?|mysql(?:\+\w+)?|mssql(?:\+\w+)?|oracle(?:\+\w+)?|mongodb(?:\+\w+)?|redis|amqp|jdbc:\w+)://",
    re.IGNORECASE,
)
"""Addresses that lead out of this machine."""
