-- Products of makers that make one of several kinds of things.
SELECT DISTINCT i_product_name
FROM item AS i1
WHERE i_manufact_id BETWEEN 738 AND 978
  AND (SELECT count(*) FROM item
       WHERE (i_manufact = i1.i_manufact AND ((i_category = 'Women' AND i_color IN ('red', 'pale', 'tan')) OR (i_category = 'Men' AND i_size IN ('petite', 'N/A'))))
          OR (i_manufact = i1.i_manufact AND i_category = 'Shoes' AND i_units IN ('Ounce', 'Case'))) > 0
ORDER BY i_product_name
