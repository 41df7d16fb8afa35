-- CDA Q18: large orders, and how much of them has a positive review. IN is a join with groups, which have each order once.
SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, sum(l_quantity) AS sum_quantity
FROM customer
JOIN orders ON c_custkey = o_custkey
JOIN (SELECT * FROM lineitem WHERE text_sentiment(l_comment) = 'Positive') l ON o_orderkey = l.l_orderkey
JOIN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 250) big ON o_orderkey = big.l_orderkey
GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice
ORDER BY o_totalprice DESC, o_orderdate
LIMIT 100
