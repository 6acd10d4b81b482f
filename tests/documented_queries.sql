SELECT name FROM bricks WHERE id IN (SELECT brick FROM kernels)
SELECT name FROM bricks WHERE EXISTS (SELECT 1 FROM kernels WHERE kernels.brick = bricks.id)
WITH k AS (SELECT brick FROM kernels) SELECT COUNT(*) AS n FROM k
SELECT k.name FROM kernels AS k JOIN bricks AS b ON k.brick = b.id
SELECT name, COUNT(*) FILTER (WHERE dur_ns > 1000) AS n FROM bricks GROUP BY name HAVING n > 2
SELECT DISTINCT ON (name) name, dur_ns FROM bricks ORDER BY name, dur_ns
SELECT QUANTILE_CONT(dur_ns, 0.99) AS q, MEDIAN(dur_ns) AS m, STDDEV(dur_ns) AS s FROM bricks
SELECT LAG(start_ns) OVER (PARTITION BY thread ORDER BY start_ns) AS l FROM bricks
SELECT SUM(dur_ns) OVER (PARTITION BY name ORDER BY start_ns) AS s FROM bricks
SELECT CASE WHEN dur_ns > 1000 THEN 'long' ELSE 'short' END AS c, name || '!' AS n FROM bricks
SELECT name FROM bricks UNION ALL SELECT name FROM kernels
SELECT COUNT(*) AS n FROM (SELECT dur_ns, AVG(dur_ns) OVER () AS mean FROM bricks) AS t WHERE dur_ns > mean
EXPLAIN SELECT name FROM bricks
SHOW TABLES
SELECT COUNT(*) AS n FROM bricks WHERE dur_ns > (SELECT AVG(dur_ns) FROM bricks)
SELECT id, RANK() OVER (PARTITION BY thread ORDER BY dur_ns DESC) AS r, NTILE(4) OVER (ORDER BY id) AS q FROM bricks
SELECT SUM(dur_ns) OVER (ORDER BY start_ns, id ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s FROM bricks
SELECT COUNT(*) AS n FROM bricks a JOIN bricks b ON a.start_ns < b.start_ns AND a.kind = 'layer'
SELECT * EXCLUDE (name) FROM bricks ORDER BY id LIMIT 3
SELECT dur_ns / 1e3 AS us FROM bricks WHERE us > 5
SELECT name, COUNT(*) AS n FROM bricks GROUP BY ALL ORDER BY n DESC
SELECT name FROM bricks INTERSECT ALL SELECT name FROM kernels
SELECT b.id, (SELECT COUNT(*) FROM kernels k WHERE k.brick = b.id) AS n FROM bricks b
SELECT name, ARG_MAX(id, dur_ns) AS slowest, STRING_AGG(DISTINCT kind, ',') AS kinds FROM bricks GROUP BY name
