-- reason
SELECT * FROM reason WHERE r_reason_sk = 1
-- store_sales
SELECT * FROM store_sales WHERE ss_quantity BETWEEN 1 AND 20 OR ss_quantity BETWEEN 41 AND 60
