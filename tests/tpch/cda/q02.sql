-- CDA Q2: suppliers at minimum cost, of parts that are shown with a person. The correlated minimum is a join with groups.
SELECT s_acctbal, s_name, n_name, p_partkey, p_mfgr, s_address, s_phone, s_comment
FROM (SELECT * FROM part WHERE p_size = 42 AND p_type LIKE '%STEEL' AND person_detection(p_image)) p
JOIN partsupp ps ON p_partkey = ps.ps_partkey
JOIN supplier ON s_suppkey = ps.ps_suppkey
JOIN nation ON s_nationkey = n_nationkey
JOIN region ON n_regionkey = r_regionkey
JOIN (
    SELECT ps_partkey, min(ps_supplycost) AS least
    FROM partsupp
    JOIN supplier ON s_suppkey = ps_suppkey
    JOIN nation ON s_nationkey = n_nationkey
    JOIN region ON n_regionkey = r_regionkey
    WHERE r_name = 'AMERICA'
    GROUP BY ps_partkey
) m ON m.ps_partkey = p_partkey AND m.least = ps.ps_supplycost
WHERE r_name = 'AMERICA'
ORDER BY s_acctbal DESC, n_name, s_name, p_partkey
LIMIT 100
