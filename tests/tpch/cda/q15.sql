-- CDA Q15: the top supplier by lines with a positive review. The scalar subquery is a join with the maximum.
WITH revenue AS (
    SELECT l_suppkey, sum(l_extendedprice * (1 - l_discount)) AS total_revenue
    FROM (
        SELECT *
        FROM lineitem
        WHERE
            l_shipdate >= DATE '1996-01-01'
            AND l_shipdate < DATE '1996-01-01' + INTERVAL '3' MONTH
            AND text_sentiment(l_comment) = 'Positive'
    ) l
    GROUP BY l_suppkey
)
SELECT s_suppkey, s_name, s_address, s_phone, total_revenue
FROM supplier
JOIN revenue ON s_suppkey = l_suppkey
JOIN (SELECT max(total_revenue) AS best FROM revenue) m ON total_revenue = best
ORDER BY s_suppkey
