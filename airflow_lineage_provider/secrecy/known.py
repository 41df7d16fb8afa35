"""The lists of names by which it is judged what may be told; there are no others.

What is known to be harmless (reader options of Spark's own sources, properties of database URLs, Airflow's run context) is let through, in
lower case: what is missing there is withheld, which is inconvenient and never wrong. What is known to be a login or a secret is left out
wherever it stands, and is the only guide where there is nothing but free text.
"""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


READER_OPTIONS = _words(
    """
    header delimiter sep encoding charset quote escape comment mode multiline linesep nullvalue nanvalue positiveinf negativeinf
    emptyvalue dateformat timestampformat timestampntzformat timeformat timezone locale enforceschema samplingratio inferschema
    prefersdate preferdate maxcolumns maxcharspercolumn maxmalformedlogperpartition unescapedquotehandling
    chartoescapequoteescaping columnnameofcorruptrecord ignoreleadingwhitespace ignoretrailingwhitespace
    enabledatetimeparsingfallback extension escapequotes quoteall compression codec
    allowcomments allowunquotedfieldnames allowsinglequotes allownumericleadingzeros allownonnumericnumbers
    allowbackslashescapinganycharacter allowunquotedcontrolchars primitivesasstring prefersdecimal dropfieldifallnull ignorenullfields
    useunsaferow singlevariantcolumn writenullifwithdefaultvalue
    mergeschema datetimerebasemode int96rebasemode variantshredding
    path paths basepath pathglobfilter recursivefilelookup modifiedbefore modifiedafter ignorecorruptfiles ignoremissingfiles
    maxfilespertrigger format wholetext rowtag attributeprefix valuetag excludeattribute ignorenamespace ignoresurroundingspaces
    driver partitioncolumn lowerbound upperbound numpartitions querytimeout fetchsize batchsize isolationlevel customschema
    pushdownpredicate pushdownaggregate pushdownlimit pushdownoffset pushdowntablesample pushdownjoin prefertimestampntz
    refreshkrb5config hint dbtable query preparequery
    """
)
"""Options of Spark's own readers (CSV, JSON, Parquet, ORC, text, XML, JDBC). They say how to read, not who reads."""

WRITTEN_TEXTS = _words(
    """
    header delimiter sep encoding charset quote escape escapequotes quoteall chartoescapequoteescaping linesep nullvalue emptyvalue
    dateformat timestampformat timestampntzformat timezone locale ignoreleadingwhitespace ignoretrailingwhitespace ignorenullfields
    """
)
"""Options of Spark's own writers of text that say how values become text, and rows lines."""

_LOGINS = _words("user username uid login loginid principal")
_PASSWORDS = _words("password passwd pwd pass psw passphrase keytab")

CREDENTIALS = _LOGINS | _PASSWORDS
"""Who reads: no part of a description, and needed again from whoever reads again."""

_PARTS_OF_SECRETS = re.compile(
    r"password|passwd|pwd|passphrase|secret|token|credential|(?:api|access|account|private)[_.\-]?key|\bsig", re.IGNORECASE
)


def is_telling(name: str) -> bool:
    """Whether a name says that its value is a secret: all that there is to judge by in free text.

    >>> is_telling("fs.s3a.SECRET.key"), is_telling("pass"), is_telling("passengers")
    (True, True, False)
    """
    return name.lower() in _PASSWORDS or _PARTS_OF_SECRETS.search(name) is not None


FILE_SYSTEM_ACCESS = ("fs.", "hadoop.", "dfs.", "spark.hadoop.", "google.cloud.auth.")
"""How the names of options begin that say how a file system is reached: the session knows, and the rows are the same."""

PLAIN_SCHEMES = _words("file hdfs viewfs webhdfs dbfs")
"""File systems whose paths may have an @, and whose URLs have no passwords."""

YES_OR_NO = _words("true false yes no on off 0 1")
"""Values that are no secrets, whatever the property of a URL is."""

URL_PROPERTIES = _words(
    """
    application_name applicationname ansi autoreconnect autosave binarytransfer cacheprepstmts characterencoding
    charset client_encoding clientencoding compress connect_timeout connecttimeout connectiontimeout currentschema database
    databasename dbname defaultrowfetchsize encrypt failover gssencmode host hostaddr hostnameincertificate
    hostrecheckseconds instancename integratedsecurity keepalives keepalives_count keepalives_idle keepalives_interval
    loadbalancehosts locktimeout logintimeout logunclosedconnections loglevel mode multisubnetfailover options port portnumber
    preparethreshold preferquerymode readonly rewritebatchedstatements reconnect schema search_path securitymechanism
    sendstringparametersasunicode servername servertimezone servicename sid sockettimeout ssl sslmode sslprotocol
    sslrootcert stringtype targetservertype target_session_attrs tcpkeepalive tcp_user_timeout timezone tinyint1isbit
    trustservercertificate useaffectedrows usecursorfetch usejdbccomplianttimezoneshift uselegacydatetimecode usessl useunicode
    verifyservercertificate warehouse yearisdatetype zerodatetimebehavior httppath transportmode
    """
)
"""Properties in URLs of PostgreSQL, MySQL, MariaDB, SQL Server, Oracle, DB2 and their like that hold no secret."""

AIRFLOW = _words("dag_id run_id task_id map_index try_number logical_date")
"""What a run keeps of Airflow."""
