-- item, inventory, date_dim, store_sales
SELECT * FROM item, inventory, date_dim, store_sales
WHERE inv_item_sk = i_item_sk AND d_date_sk = inv_date_sk AND ss_item_sk = i_item_sk AND d_date >= DATE '2000-05-25' AND d_date < DATE '2000-06-11'
  AND inv_quantity_on_hand >= 100 AND inv_quantity_on_hand <= 500 AND i_item_id = {i_item_id} AND i_current_price = {i_current_price}
