-- CDA Q17: revenue of small orders, of parts that are shown with a person. The correlated average is a join with groups.
SELECT sum(l_extendedprice) / 7.0 AS avg_yearly
FROM (SELECT * FROM part WHERE p_brand = 'Brand#33' AND p_container = 'LG DRUM' AND person_detection(p_image)) p
JOIN lineitem l ON p_partkey = l.l_partkey
JOIN (SELECT l_partkey, 0.2 * avg(l_quantity) AS few FROM lineitem GROUP BY l_partkey) a ON a.l_partkey = p_partkey
WHERE l.l_quantity < a.few
