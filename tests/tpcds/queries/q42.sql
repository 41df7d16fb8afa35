-- What the categories sold in a month.
SELECT d.d_year, i_category_id, i_category, sum(ss_ext_sales_price) AS revenue
FROM date_dim AS d, store_sales, item
WHERE d.d_date_sk = ss_sold_date_sk AND ss_item_sk = i_item_sk AND i_manager_id < 30 AND d.d_moy = 12 AND d.d_year = 1998
GROUP BY d.d_year, i_category_id, i_category
ORDER BY revenue DESC, i_category_id, i_category
