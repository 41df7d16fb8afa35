-- Average stock by product, brand, class and category, with all totals.
SELECT i_class, i_category, avg(inv_quantity_on_hand) AS stock
FROM inventory, date_dim, item
WHERE inv_date_sk = d_date_sk AND inv_item_sk = i_item_sk AND d_month_seq BETWEEN 1200 AND 1202
GROUP BY ROLLUP (i_category, i_class)
ORDER BY stock, i_category, i_class
LIMIT 60
