-- CDA Q3: shipping priority, of lines with a positive review.
SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate, o_shippriority
FROM customer
JOIN orders ON c_custkey = o_custkey
JOIN (
    SELECT * FROM lineitem WHERE l_shipdate > DATE '1995-03-15' AND text_sentiment(l_comment) = 'Positive'
) l ON l_orderkey = o_orderkey
WHERE c_mktsegment = 'BUILDING' AND o_orderdate < DATE '1995-03-15'
GROUP BY l_orderkey, o_orderdate, o_shippriority
ORDER BY revenue DESC, o_orderdate
LIMIT 10
