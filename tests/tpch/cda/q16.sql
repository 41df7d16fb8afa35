-- CDA Q16: suppliers of parts that are shown with a person. NOT IN is a difference.
SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS supplier_cnt
FROM (
    SELECT p_brand, p_type, p_size, ps_suppkey
    FROM partsupp
    JOIN (
        SELECT *
        FROM part
        WHERE
            p_brand <> 'Brand#45'
            AND p_type NOT LIKE 'MEDIUM POLISHED%'
            AND p_size IN (49, 14, 23, 45, 19, 3, 36, 9)
            AND person_detection(p_image)
    ) p ON p_partkey = ps_partkey
) offered
LEFT ANTI JOIN (SELECT s_suppkey FROM supplier WHERE s_comment LIKE '%regular%requests%') s ON ps_suppkey = s_suppkey
GROUP BY p_brand, p_type, p_size
ORDER BY supplier_cnt DESC, p_brand, p_type, p_size
