-- item, inventory, date_dim, catalog_sales
SELECT * FROM item, inventory, date_dim, catalog_sales
WHERE inv_item_sk = i_item_sk AND d_date_sk = inv_date_sk AND d_date >= DATE '2000-02-01' AND d_date <= DATE '2000-02-20'
  AND inv_quantity_on_hand BETWEEN 100 AND 500 AND cs_item_sk = i_item_sk AND i_item_id = {i_item_id} AND i_current_price = {i_current_price}
  AND i_item_desc = {i_item_desc}
