-- inventory, date_dim, item
SELECT * FROM inventory, date_dim, item
WHERE inv_date_sk = d_date_sk AND inv_item_sk = i_item_sk AND d_month_seq IN (1200, 1201, 1202) AND i_class <=> {i_class} AND i_category <=> {i_category}
