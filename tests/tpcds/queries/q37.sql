-- Items in stock that were sold by catalog within two months.
SELECT i_item_id, i_item_desc, i_current_price
FROM item, inventory, date_dim, catalog_sales
WHERE i_current_price BETWEEN 2 AND 80 AND inv_item_sk = i_item_sk AND d_date_sk = inv_date_sk
  AND d_date BETWEEN DATE '2000-02-01' AND DATE '2000-02-20' AND inv_quantity_on_hand BETWEEN 100 AND 500 AND cs_item_sk = i_item_sk
GROUP BY i_item_id, i_item_desc, i_current_price
ORDER BY i_item_id
LIMIT 20
