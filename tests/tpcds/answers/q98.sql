-- store_sales, item, date_dim
SELECT * FROM store_sales, item, date_dim
WHERE ss_item_sk = i_item_sk AND ss_sold_date_sk = d_date_sk AND i_category IN ('Sports', 'Books', 'Home')
  AND d_date >= DATE '1999-02-22' AND d_date < DATE '1999-03-25' AND i_class <=> {i_class}
