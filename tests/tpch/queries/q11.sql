-- TPC-H Q11, important stock identification. NATION = PERU, FRACTION = 0.01.
-- The validation parameters (NATION = GERMANY, FRACTION = 0.0001) give nothing at the tests' scale factor.
SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value
FROM partsupp, supplier, nation
WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'PERU'
GROUP BY ps_partkey
HAVING
    sum(ps_supplycost * ps_availqty) > (
        SELECT sum(ps_supplycost * ps_availqty) * 0.01
        FROM partsupp, supplier, nation
        WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'PERU'
    )
ORDER BY value DESC
