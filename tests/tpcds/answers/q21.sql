-- inventory, warehouse, item, date_dim
SELECT * FROM inventory, warehouse, item, date_dim
WHERE inv_warehouse_sk = w_warehouse_sk AND i_item_sk = inv_item_sk AND inv_date_sk = d_date_sk
  AND d_date BETWEEN DATE '2000-02-10' AND DATE '2000-04-10' AND w_warehouse_name = {w_warehouse_name} AND i_item_id = {i_item_id}
