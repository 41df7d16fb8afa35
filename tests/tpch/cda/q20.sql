-- CDA Q20: suppliers with a stock of parts that are shown with a person, by lines with a positive review.
-- Both IN are joins with distinct keys, the correlated sum is a join with groups.
SELECT s_name, s_address
FROM supplier
JOIN nation ON s_nationkey = n_nationkey
JOIN (
    SELECT DISTINCT ps_suppkey
    FROM partsupp
    JOIN (SELECT p_partkey FROM part WHERE p_name LIKE 'h%' AND person_detection(p_image)) p ON ps_partkey = p_partkey
    JOIN (
        SELECT l_partkey, l_suppkey, 0.5 * sum(l_quantity) AS half
        FROM (
            SELECT *
            FROM lineitem
            WHERE
                l_shipdate >= DATE '1994-01-01'
                AND l_shipdate < DATE '1994-01-01' + INTERVAL '1' YEAR
                AND text_sentiment(l_comment) = 'Positive'
        ) l
        GROUP BY l_partkey, l_suppkey
    ) q ON q.l_partkey = ps_partkey AND q.l_suppkey = ps_suppkey
    WHERE ps_availqty > half
) stocked ON s_suppkey = ps_suppkey
WHERE n_name = 'PERU'
ORDER BY s_name
