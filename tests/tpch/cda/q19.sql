-- CDA Q19: discounted revenue, of lines with a positive review, of parts that are shown with a person.
SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue
FROM (
    SELECT *
    FROM lineitem
    WHERE
        l_shipmode IN ('AIR', 'AIR REG')
        AND l_shipinstruct = 'DELIVER IN PERSON'
        AND text_sentiment(l_comment) = 'Positive'
) l
JOIN (SELECT * FROM part WHERE p_size BETWEEN 1 AND 15 AND person_detection(p_image)) p ON p_partkey = l_partkey
WHERE
    (
        p_brand = 'Brand#12'
        AND p_container IN ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
        AND l_quantity BETWEEN 1 AND 1 + 10
        AND p_size BETWEEN 1 AND 5
    )
    OR (
        p_brand = 'Brand#23'
        AND p_container IN ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
        AND l_quantity BETWEEN 10 AND 10 + 10
        AND p_size BETWEEN 1 AND 10
    )
    OR (
        p_brand = 'Brand#13'
        AND p_container IN ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
        AND l_quantity BETWEEN 1 AND 1 + 10
        AND p_size BETWEEN 1 AND 15
    )
