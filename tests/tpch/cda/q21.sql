-- CDA Q21: suppliers who kept orders waiting and were praised nevertheless.
-- EXISTS is a join with the orders of several suppliers, NOT EXISTS is a difference.
SELECT s_name, count(*) AS numwait
FROM (
    SELECT s_name, l1.l_orderkey, l1.l_suppkey
    FROM supplier
    JOIN (
        SELECT * FROM lineitem WHERE l_receiptdate > l_commitdate AND text_sentiment(l_comment) = 'Positive'
    ) l1 ON s_suppkey = l1.l_suppkey
    JOIN orders ON o_orderkey = l1.l_orderkey
    JOIN nation ON s_nationkey = n_nationkey
    JOIN (
        SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING count(DISTINCT l_suppkey) > 1
    ) l2 ON l2.l_orderkey = l1.l_orderkey
    WHERE o_orderstatus = 'F' AND n_name = 'PERU'
) waiting
LEFT ANTI JOIN (
    SELECT l_orderkey, l_suppkey FROM lineitem WHERE l_receiptdate > l_commitdate
) l3 ON l3.l_orderkey = waiting.l_orderkey AND l3.l_suppkey <> waiting.l_suppkey
GROUP BY s_name
ORDER BY numwait DESC, s_name
LIMIT 100
