"""Words that are quoted when they are names: all of Spark's keywords but the everyday ones, and PostgreSQL's that are not free as names.

Quoting one too many is only less pretty; the tests run every keyword of both engines through both engines.
"""

from __future__ import annotations

_KEYWORDS = """
    add after aggregate align all alter always analyse analyze and anti any any_value apply approx archive array as asc
    asensitive asof asymmetric at atomic authorization auto begin bernoulli between bigint bin bin_distribute_ratio bin_end
    bin_start binary binding bit boolean both bucket buckets by byte cache call called cascade case cast catalog catalogs
    cdc change changes char character check clear close cluster clustered coalesce codegen collate collation collations
    collection column columns commit compact compactions compensation compute concatenate concurrently condition constraint
    contains continue cost create cross cube current current_catalog current_database current_date current_path current_role
    current_schema current_time current_timestamp current_user cursor database databases date_add date_diff dateadd datediff
    dayofyear dbproperties dec decimal declare default default_path deferrable defined definer delay delete delimited desc
    describe deterministic dfs directories directory distance distinct distribute div do double drop else elseif end
    enforced error escape escaped evolution exact except exchange exclude exclusive execute exists exit explain export
    extend extended external extract false fetch fields fileformat filter first float flow following for foreign format
    formatted found freeze from full function functions generated geography geometry global grant greatest group grouping
    handler having identified identifier identity if ignore ilike immediate import in include inclusive increment indexes
    initially inner inout inpath input inputformat insensitive insert int integer intersect interval into invoker is isnull
    items iterate join json json_array json_arrayagg json_exists json_object json_objectagg json_query json_scalar
    json_serialize json_table json_value keys language last lateral lazy leading least leave left level like limit lines
    list load local localtime localtimestamp lock locks logical long loop macro map match_condition matched materialized max
    measure merge merge_action metrics microsecond microseconds millisecond milliseconds minus modifies msck namespace
    namespaces nanosecond nanoseconds national natural nchar nearest next no none norely normalize not notnull null nullif
    nulls numeric of offset on only open or order ordinality out outer outputformat over overlaps overlay overwrite
    partition partitioned partitions percent pivot placing position preceding precision primary principals procedure
    procedures properties purge qualify query range read reads real recordreader recordwriter recover recursion recursive
    reduce references refresh rely rename repair repeat repeatable replace reset respect restrict return returning returns
    revoke right rollback rollup row rows scd schema schemas security select semi separated sequence serde serdeproperties
    session_user set setof sets short show similar similarity single skewed smallint some sort sorted specific sql
    sqlexception sqlstate statistics stored stratify stream streaming string struct substr substring symmetric sync system
    system_path system_time system_user system_version table tables tablesample tblproperties terminated then time timediff
    timestamp timestamp_ltz timestamp_ntz timestampadd timestampdiff tinyint to touch track trailing transaction
    transactions transform treat trim true truncate try_cast unarchive unbounded uncache uniform union unique unknown unlock
    unnest unpivot unset until update use user using values var varchar variable variadic variant verbose void watermark
    when where while width window with within without xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces
    xmlparse xmlpi xmlroot xmlserialize xmltable zone
"""
KEYWORDS = frozenset(_KEYWORDS.split())
