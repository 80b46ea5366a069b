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
    "INNER_WORDS",
    "METHODS",
    "MODULES",
    "PATH_METHODS",
    "SECRET_FOLDERS",
    "TEXT_RUNNERS",
    "WRITERS_WITH_PATH",
    "method_effect",
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
_SCRIPT = "runs JavaScript in the browser"


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


def _table(*groups: tuple[str, str]) -> dict[str, str]:
    """Build ``{name: why}`` from pairs of a reason and its names in one text."""
    return {name: why for why, names in groups for name in names.split()}


MODULES: Final[Mapping[str, str]] = _table(
    (_PROCESS, "subprocess pty pexpect ptyprocess sh plumbum invoke fabric docker asyncio.subprocess signal posix nt"),
    (_PROCESS, "winreg msvcrt fcntl termios tty atexit git dulwich pygit2 dask.distributed distributed ray"),
    (_THREADS, "threading multiprocessing concurrent.futures billiard torch.multiprocessing"),
    (_NETWORK, "socket socketserver ssl http urllib urllib3 ftplib smtplib poplib imaplib nntplib telnetlib xmlrpc"),
    (_NETWORK, "webbrowser antigravity requests httpx aiohttp httplib2 pycurl websocket websockets grpc paramiko"),
    (_NETWORK, "asyncssh boto3 botocore aiobotocore s3fs gcsfs adlfs fsspec smart_open google.cloud google.colab"),
    (_NETWORK, "google.auth azure minio openai anthropic cohere huggingface_hub kaggle kagglehub gdown wget yfinance"),
    (_NETWORK, "pandas_datareader tweepy selenium playwright scrapy mechanize zmq nats pika kafka elasticsearch"),
    (_NETWORK, "opensearchpy redis pymongo motor psycopg psycopg2 asyncpg pymysql MySQLdb mysql cx_Oracle oracledb"),
    (
        _NETWORK,
        "pyodbc snowflake databricks clickhouse_driver pymssql cassandra neo4j ldap3 slack_sdk telegram discord",
    ),
    (_NETWORK, "twilio sendgrid wandb mlflow neptune comet_ml feedparser wikipedia osmnx cdsapi earthaccess ee openml"),
    (_NETWORK, "pystac_client dns scapy logging.handlers torch.hub gensim.downloader ucimlrepo wsgiref pyarrow.fs"),
    (_NETWORK, "scipy.datasets xarray.tutorial vega_datasets flask uvicorn gunicorn hypercorn waitress gradio pyngrok"),
    (_DYNAMIC, "importlib imp runpy code codeop pdb bdb pkgutil pydoc zipimport marshal ctypes cffi copyreg timeit"),
    (_DYNAMIC, "cProfile profile trace doctest unittest numpy.ctypeslib numpy.f2py papermill nbclient nbconvert cppyy"),
    (_DYNAMIC, "asteval jsonpickle numpy.distutils torch.utils.cpp_extension"),
    (_DYNAMIC, "pyximport rpy2 oct2py julia py4j jpype jnius js2py execjs lupa quickjs"),
    (_INTERPRETER, "builtins __builtin__ __main__ site sitecustomize logging.config faulthandler resource"),
    (_INSTALLS, "pip ensurepip venv setuptools distutils pkg_resources conda uv"),
    (_SECRETS, "PIL.ImageGrab mss pyautogui pynput"),
    (_SECRETS, "keyring getpass netrc dotenv browser_cookie3 rookiepy"),
    (_KERNEL, "zidane_lab IPython ipykernel jupyter_client jupyter_core jupyter_server comm debugpy"),
    (_WRITES, "fileinput shelve dbm py_compile compileall zipapp mailbox sqlite_utils xlsxwriter tensorflow.io.gfile"),
)
"""Modules with no use but the one told: importing or using any part of them asks."""

HARMLESS_MODULES: Final = _words(
    """urllib.parse urllib.error http.HTTPStatus http.HTTPMethod importlib.metadata importlib.resources
    importlib.util.find_spec IPython.display IPython.core.display IPython.core.display_functions IPython.__version__
    IPython.version_info timeit.default_timer multiprocessing.cpu_count"""
)
"""Parts of the modules above that only compute."""

ALLOWED_PARTS: Final[Mapping[str, frozenset[str]]] = {
    "os": _words(
        """path getcwd getcwdb listdir scandir walk fwalk stat lstat fstat stat_result cpu_count sep altsep extsep
        pathsep linesep curdir pardir name devnull getpid getppid getlogin fspath fsencode fsdecode PathLike access
        R_OK W_OK X_OK F_OK uname statvfs get_terminal_size getloadavg times error strerror readlink DirEntry
        supports_follow_symlinks urandom"""
    ),
    "sys": _words(
        """version version_info platform executable argv getsizeof maxsize float_info byteorder stdout stderr path
        getrecursionlimit implementation stdlib_module_names builtin_module_names getdefaultencoding
        getfilesystemencoding getrefcount hash_info int_info prefix base_prefix exec_prefix intern flags
        api_version hexversion exc_info copyright float_repr_style maxunicode thread_info"""
    ),
    "shutil": _words("disk_usage which get_terminal_size Error"),
    "tempfile": _words("gettempdir gettempprefix"),
    "pickle": _words("dumps HIGHEST_PROTOCOL DEFAULT_PROTOCOL PickleError PicklingError"),
    "cloudpickle": _words("dumps"),
    "dill": _words("dumps"),
    "joblib": _words("hash cpu_count __version__"),
    "types": _words(
        """SimpleNamespace MappingProxyType GenericAlias UnionType NoneType EllipsisType NotImplementedType
        GeneratorType LambdaType MethodType BuiltinFunctionType TracebackType DynamicClassAttribute"""
    ),
    "gc": _words("collect get_count get_stats isenabled get_threshold"),
}
"""Modules of which only these parts go unasked."""

CORE_MODULES: Final = _words(
    """os sys shutil subprocess builtins importlib socket ctypes posix nt requests httpx urllib multiprocessing
    threading pickle tempfile runpy pty zidane_lab"""
)
"""Modules that may not be handed on as values or hidden under another name, where their use could not be seen."""

FUNCTIONS: Final[Mapping[str, str]] = _table(
    (_DYNAMIC, "yaml.load yaml.load_all yaml.unsafe_load yaml.full_load operator.attrgetter operator.methodcaller"),
    (_DYNAMIC, "inspect.currentframe inspect.stack inspect.trace inspect.getouterframes inspect.getinnerframes"),
    (_DYNAMIC, "inspect.getmembers inspect.getmembers_static inspect.getattr_static numpy.testing.measure"),
    (_DYNAMIC, "sympy.sympify sympy.parse_expr sympy.parsing numexpr.evaluate jinja2.Template string.Formatter"),
    (_DYNAMIC, "typing.get_type_hints typing.ForwardRef inspect.get_annotations"),
    (_PICKLE, "torch.load pandas.read_pickle pandas.compat.pickle_compat sklearn.externals.joblib"),
    (_SECRETS, "streamlit.secrets os.path.expandvars pandas.read_clipboard pyperclip.paste"),
    (_INTERPRETER, "locale.setlocale numpy.set_string_function numpy.seterrcall numpy.testing.extbuild"),
    (_WRITES, "altair.data_transformers.enable matplotlib.image.thumbnail dask.array.store"),
    (_INTERPRETER, "gc.set_debug sys.path.append sys.path.insert sys.path.extend sys.path.remove"),
    (_INTERPRETER, "sys.path.clear sys.path.pop linecache.cache"),
    (_NETWORK, "seaborn.load_dataset seaborn.get_dataset_names datasets.load_dataset spacy.cli"),
    (_NETWORK, "tensorflow_datasets.load transformers.pipeline sentence_transformers.SentenceTransformer"),
    (_NETWORK, "asyncio.open_connection asyncio.start_server asyncio.open_unix_connection psutil.net_connections"),
    (_NETWORK, "IPython.display.IFrame IPython.display.YouTubeVideo IPython.display.VimeoVideo"),
    (_SCRIPT, "IPython.display.Javascript IPython.display.display_javascript"),
    (_THREADS, "asyncio.to_thread joblib.Parallel"),
    (_WRITES, "numpy.DataSource io.open_code pyarrow.OSFile pyarrow.output_stream pyarrow.create_memory_map"),
    (_WRITES, "pyarrow.CompressedOutputStream pyarrow.create_library_symlinks keras.utils.get_file"),
    (_WRITES, "pyarrow.ipc.new_file pyarrow.ipc.new_stream plotly.offline.plot sklearn.datasets.get_data_home"),
    (_WRITES, "zipfile.main tarfile.main gzip.main"),
    (_DELETES, "polars.delete_iceberg sklearn.datasets.clear_data_home"),
    ("changes the working folder", "contextlib.chdir"),
    (_NETWORK, "polars.Catalog"),
    (_DATABASE, "sqlalchemy.create_engine sqlalchemy.create_async_engine sqlite3.Connection"),
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
    (_WRITES, "write writelines writeto writestr writeStream savefig imsave imwrite savetxt savez savemat save tofile"),
    (_WRITES, "savez_compressed dump mkdir makedirs touch mkstemp mkdtemp mkfifo mknod symlink_to hardlink_to symlink"),
    (_WRITES, "link link_to extractall FileIO FileHandler RotatingFileHandler TimedRotatingFileHandler PdfPages"),
    (_WRITES, "HDFStore ModelCheckpoint TensorBoard CSVLogger NamedTemporaryFile TemporaryFile TemporaryDirectory"),
    (_WRITES, "copyfile copytree copyfileobj copy2 copymode make_archive unpack_archive chmod lchmod fchmod chown"),
    (_WRITES, "lchown to_pickle to_excel to_sql to_hdf to_stata to_gbq to_clipboard to_feather to_netcdf to_zarr"),
    (_WRITES, "to_delta to_iceberg to_file to_postgis to_avro to_disk to_gif to_mp4 to_video saveAsTable insertInto"),
    (
        _WRITES,
        "print_figure print_png print_pdf print_svg print_jpg print_jpeg print_eps print_ps print_tif print_webp",
    ),
    (_WRITES, "print_raw print_rgba print_gif print_avif print_tiff print_svgz print_pgf print_bmp output_file"),
    (
        _WRITES,
        "to_html5_video math_to_image show_html get_writer PackageExporter BackupAndRestore DataSource",
    ),
    (
        _WRITES,
        "tensorboard_trace_handler save_tree plot_model render_to_file render_to_png to_filehandle serialize_to",
    ),
    (_WRITES, "MolToFile MolsToFile embed_minimal_html"),
    (_WRITES, "mimsave mimwrite volsave volwrite mvolsave mvolwrite"),
    (_WRITES, "executescript executemany commit render screenshot export get_handle"),
    (_DELETES, "unlink rmdir rmtree removedirs send2trash"),
    (_MOVES, "renames copy_into move_into"),
    (_PROCESS, "system popen Popen check_output check_call getoutput getstatusoutput startfile posix_spawn"),
    (_PROCESS, "posix_spawnp spawnl spawnle spawnlp spawnlpe spawnv spawnve spawnvp spawnvpe execl execle execlp"),
    (_PROCESS, "execlpe execv execve execvp execvpe fork forkpty create_subprocess_exec create_subprocess_shell"),
    (_PROCESS, "subprocess_exec subprocess_shell kill killpg terminate send_signal _exit abort getOrCreate"),
    (_THREADS, "run_in_executor ThreadPoolExecutor ProcessPoolExecutor ThreadPool"),
    (_NETWORK, "urlopen urlretrieve download upload sendall sendto sendmail create_connection from_pretrained"),
    (_NETWORK, "push_to_hub hf_hub_download snapshot_download get_rdataset webuse read_gbq load_dataset"),
    (_NETWORK, "create_server create_unix_server create_unix_connection create_datagram_endpoint sock_connect"),
    (_NETWORK, "load_arviz_data webdoc show_in_browser remote set_network_enabled efetch esearch qblast"),
    (_NETWORK, "from_name of_site of_address load_url natural_earth coastlines add_wms add_wmts stock_img geocode"),
    (_NETWORK, "run_server serve_forever getaddrinfo sock_sendall sock_sendto connect_read_pipe connect_write_pipe"),
    (_KERNEL, "run_line_magic run_cell_magic run_cell run_cell_async run_code user_ns user_global_ns do_shutdown"),
    (_KERNEL, "safe_execfile set_next_input register_magic_function input_transformers_cleanup ast_transformers"),
    (
        _DYNAMIC,
        "import_module load_module exec_module rundocs spec_from_file_location FunctionType CodeType runstring",
    ),
    (_DYNAMIC, "enable_load_extension load_library"),
    (_PICKLE, "read_pickle read_hdf deserialize Unpickler"),
    (_SECRETS, "environ environb getenv getenvb password passwd passphrase api_key secret_key access_key access_token"),
    (_SECRETS, "refresh_token client_secret private_key get_password get_secret get_secret_value render_as_string"),
    (_SECRETS, "read_clipboard get_secret_string get_credentials"),
)
"""Attributes that ask on whatever object they are looked up."""

_PATTERNS: Final = (
    (
        re.compile(
            r"(?:write|sink|save|dump)(?:_|[A-Z])\w*|export(?:_(?!text\b)|[A-Z])\w*|open_(?:output|append|write)\w*|\w+_extractall|[a-z]{1,4}save|\w+_save|(?!model_)\w+_(?:dump|write)|mmwrite|\w+Writer"
        ),
        _WRITES,
    ),
    (re.compile(r"deserialize_\w+"), _PICKLE),
    (re.compile(r"(?:download|upload|fetch)_\w+|\w+_from_url|from_url|load_\w*url"), _NETWORK),
)

WRITERS_WITH_PATH: Final = _words(
    """to_csv to_json to_parquet to_orc to_html to_xml to_latex to_markdown to_string to_ndjson to_ipc write_csv
    write_json write_ndjson serialize"""
)
"""Methods that return their text unless they are given somewhere to write it."""


def method_effect(name: str) -> str | None:
    """Say what an attribute of this name does, if it asks whatever it is looked up on."""
    if name in METHODS or name in WRITERS_WITH_PATH:
        return METHODS.get(name)
    return next((why for pattern, why in _PATTERNS if pattern.fullmatch(name)), None)


TEXT_RUNNERS: Final = _words(
    "eval query execute exec_driver_sql execute_global sql read_sql read_sql_query read_database"
)
"""Functions that run the text they are given: judged by it, and not to be handed on."""

PATH_METHODS: Final = _words("open rename replace move copy")
"""Methods that files have and data have, too: judged by their arguments, and not to be handed on."""

DATA_METHODS: Final = _words(
    """T agg aggregate apply assign astype collect concat corr count cumsum describe diff drop drop_duplicates dropna
    explode fillna filter group_by groupby head idxmax idxmin iloc lazy loc map max mean median melt merge min nunique
    pct_change pivot pivot_table quantile query rank reset_index resample rolling sample select set_index shift size
    sort sort_values stack std str sum tail to_frame to_pandas to_series transform unique unstack value_counts var
    with_columns format strip lower upper"""
)
"""Methods and attributes of tables and text that no path has: what comes from them is data."""

CONVENTIONAL: Final[Mapping[str, str]] = {
    "alt": "altair",
    "gpd": "geopandas",
    "go": "plotly.graph_objects",
    "lgb": "lightgbm",
    "mpl": "matplotlib",
    "np": "numpy",
    "nx": "networkx",
    "pa": "pyarrow",
    "pd": "pandas",
    "pl": "polars",
    "plt": "matplotlib.pyplot",
    "px": "plotly.express",
    "sm": "statsmodels.api",
    "smf": "statsmodels.formula.api",
    "sns": "seaborn",
    "tf": "tensorflow",
    "xgb": "xgboost",
    "xr": "xarray",
}
"""What a short name stands for when nothing else is known of it."""

DUNDERS_ALLOWED: Final = _words(
    """__class__ __name__ __qualname__ __module__ __doc__ __version__ __file__ __path__ __all__ __annotations__ __len__
    __init__ __post_init__ __new__ __repr__ __str__ __eq__ __hash__ __iter__ __next__ __enter__ __exit__ __contains__
    __array__ __dataclass_fields__ __slots__ __members__ __getitem__ __add__ __mul__ __sub__ __lt__ __gt__ __le__
    __ge__ __ne__ __neg__ __abs__ __float__ __int__ __bool__ __wrapped__ __cause__ __context__ __notes__ __set_name__
    __init_subclass__ __or__ __and__ __xor__ __invert__ __format__ __truediv__ __matmul__ __array_interface__
    __dataframe__ __mro__ __package__ __required_keys__ __optional_keys__"""
)
"""Double-underscore attributes that lead nowhere dangerous; every other one asks."""

FRAME_ATTRIBUTES: Final = _words(
    """f_globals f_locals f_builtins f_back tb_frame tb_next gi_frame gi_code cr_frame cr_code ag_frame func_globals
    func_code co_code"""
)
"""Attributes that lead from a frame, a traceback or a function to everything."""

INNER_WORDS: Final = ("__globals__", "__subclasses__", "__builtins__", "__import__", "__mro__", "__code__")
"""Words that have no business in a text, unless to be looked up."""

SECRET_FOLDERS: Final = _words(".aws .azure .gnupg .kube .ssh .docker environ")
"""Parts that a path to secrets is put together from."""
