-- item
SELECT * FROM item AS i1 WHERE i_product_name = {i_product_name}
-- item
SELECT o.* FROM item AS o, item AS i1
WHERE i1.i_product_name = {i_product_name} AND o.i_manufact = i1.i_manufact
  AND (o.i_category = 'Women' AND o.i_color IN ('red', 'pale', 'tan') OR o.i_category = 'Men' AND o.i_size IN ('petite', 'N/A')
       OR o.i_category = 'Shoes' AND o.i_units IN ('Ounce', 'Case'))
