BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0029');
CREATE TABLE api_token (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	person TEXT NOT NULL, 
	name TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	used DATETIME, 
	expires DATETIME NOT NULL, 
	revoked DATETIME, 
	token_hash TEXT NOT NULL, 
	CONSTRAINT uq_api_token_token_hash UNIQUE (token_hash)
);
CREATE TABLE article (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	title TEXT NOT NULL, 
	url TEXT NOT NULL, 
	source TEXT NOT NULL, 
	bucket INTEGER NOT NULL, 
	sections INTEGER NOT NULL, 
	sentences INTEGER NOT NULL, 
	topic TEXT DEFAULT '' NOT NULL, 
	part TEXT DEFAULT '' NOT NULL, 
	removed INTEGER, 
	CONSTRAINT uq_article_corpus_id_position UNIQUE (corpus_id, position), 
	CONSTRAINT fk_article_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE
);
INSERT INTO "article" VALUES(1,1,0,'Rome','','',24,2,12,'','',NULL);
INSERT INTO "article" VALUES(2,2,0,'Oslo','','',500,2,12,'','',NULL);
CREATE TABLE assignment (
	run_id INTEGER NOT NULL, 
	article_id INTEGER NOT NULL, 
	labels BLOB NOT NULL, 
	CONSTRAINT pk_assignment PRIMARY KEY (run_id, article_id), 
	CONSTRAINT fk_assignment_run_id FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE CASCADE, 
	CONSTRAINT fk_assignment_article_id FOREIGN KEY(article_id) REFERENCES article (id) ON DELETE CASCADE
);
CREATE TABLE audit_event (
	created DATETIME NOT NULL, 
	author TEXT NOT NULL, 
	action TEXT NOT NULL, 
	person TEXT NOT NULL, 
	detail TEXT NOT NULL, 
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT
);
CREATE TABLE benchmark (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	config TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	counts TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	revision INTEGER DEFAULT 1 NOT NULL, 
	CONSTRAINT fk_benchmark_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT uq_benchmark_name UNIQUE (name)
);
CREATE TABLE benchmark_item (
	benchmark_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	article_id INTEGER NOT NULL, 
	sentence_ids BLOB NOT NULL, 
	truth BLOB NOT NULL, 
	CONSTRAINT pk_benchmark_item PRIMARY KEY (benchmark_id, position), 
	CONSTRAINT fk_benchmark_item_benchmark_id FOREIGN KEY(benchmark_id) REFERENCES benchmark (id) ON DELETE CASCADE, 
	CONSTRAINT fk_benchmark_item_article_id FOREIGN KEY(article_id) REFERENCES article (id) ON DELETE CASCADE
);
CREATE TABLE column_block (
	column_id INTEGER NOT NULL, 
	first INTEGER NOT NULL, 
	rows INTEGER NOT NULL, 
	ids BLOB NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_column_block PRIMARY KEY (column_id, first), 
	CONSTRAINT fk_column_block_column_id FOREIGN KEY(column_id) REFERENCES corpus_column (id) ON DELETE CASCADE
);
CREATE TABLE corpus (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	language TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	articles INTEGER NOT NULL, 
	sections INTEGER NOT NULL, 
	paragraphs INTEGER NOT NULL, 
	sentences INTEGER NOT NULL, 
	ready BOOLEAN NOT NULL, 
	report TEXT NOT NULL, 
	CONSTRAINT uq_corpus_name UNIQUE (name)
);
INSERT INTO "corpus" VALUES(1,'Rivers','en','2026-11-28 08:40:47.839088',1,2,2,12,1,'{"files":["a.txt"],"readers":["plain-text"]}');
INSERT INTO "corpus" VALUES(2,'Plans','en','2026-11-28 08:40:47.906626',1,2,2,12,1,'{"files":["b.txt"],"readers":["plain-text"]}');
CREATE TABLE corpus_column (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	level TEXT NOT NULL, 
	type TEXT NOT NULL, 
	about TEXT NOT NULL, 
	CONSTRAINT uq_corpus_column_corpus_id UNIQUE (corpus_id, level, name), 
	CONSTRAINT fk_corpus_column_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE
);
CREATE TABLE corpus_edit (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	what TEXT NOT NULL, 
	sentence_id INTEGER NOT NULL, 
	"before" TEXT NOT NULL, 
	"after" TEXT NOT NULL, 
	articles INTEGER NOT NULL, 
	sentences INTEGER NOT NULL, 
	labels INTEGER NOT NULL, 
	person TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	undone DATETIME, 
	steps TEXT NOT NULL, 
	CONSTRAINT fk_corpus_edit_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE
);
CREATE TABLE embedding (
	model_id INTEGER NOT NULL, 
	article_id INTEGER NOT NULL, 
	format TEXT NOT NULL, 
	dtype TEXT NOT NULL, 
	rows INTEGER NOT NULL, 
	dim INTEGER NOT NULL, 
	data BLOB NOT NULL, 
	CONSTRAINT pk_embedding PRIMARY KEY (model_id, article_id), 
	CONSTRAINT fk_embedding_model_id FOREIGN KEY(model_id) REFERENCES model (id) ON DELETE CASCADE, 
	CONSTRAINT fk_embedding_article_id FOREIGN KEY(article_id) REFERENCES article (id) ON DELETE CASCADE
);
CREATE TABLE error_case (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	sentence_ids TEXT NOT NULL, 
	facts TEXT NOT NULL, 
	permalink TEXT NOT NULL, 
	sample_id INTEGER, 
	person TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	deleted DATETIME, 
	digest TEXT NOT NULL, 
	CONSTRAINT uq_error_case_corpus_id UNIQUE (corpus_id, digest), 
	CONSTRAINT fk_error_case_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT fk_error_case_sample_id FOREIGN KEY(sample_id) REFERENCES error_sample (id) ON DELETE SET NULL
);
INSERT INTO "error_case" VALUES(1,1,'triplet','[1,2,7]','{"source":"triplet set Rivers, test split","predicted":"Climate","sentences":3,"passages":[{"text":"Rome sentence 0.","article":"Rome","section":"","role":"pivot","placed":""},{"text":"Rome sentence 1.","article":"Rome","section":"","role":"positive","placed":""},{"text":"Rome sentence 6.","article":"Rome","section":"Climate","role":"negative","placed":""}],"models":["default"],"margins":{"default":-0.125,"tfidf":0.5}}','triplets?triplets_triplet=0',1,'Ada','2026-11-28 08:40:48.022059',NULL,'a339945ef2f03bcb9f7ff90fbf846260');
INSERT INTO "error_case" VALUES(2,1,'triplet','[2,3,8]','{"source":"triplet set Rivers, test split","predicted":"Climate","sentences":3,"passages":[{"text":"Rome sentence 1.","article":"Rome","section":"","role":"pivot","placed":""},{"text":"Rome sentence 2.","article":"Rome","section":"","role":"positive","placed":""},{"text":"Rome sentence 7.","article":"Rome","section":"Climate","role":"negative","placed":""}],"models":["default"],"margins":{"default":-0.125,"tfidf":0.5}}','triplets?triplets_triplet=1',1,'Ada','2026-11-28 08:40:48.036889',NULL,'2ec8e81417cb2cf5eb0c212a45f2c76c');
INSERT INTO "error_case" VALUES(3,1,'triplet','[3,4,9]','{"source":"triplet set Rivers, test split","predicted":"Climate","sentences":3,"passages":[{"text":"Rome sentence 2.","article":"Rome","section":"","role":"pivot","placed":""},{"text":"Rome sentence 3.","article":"Rome","section":"","role":"positive","placed":""},{"text":"Rome sentence 8.","article":"Rome","section":"Climate","role":"negative","placed":""}],"models":["default"],"margins":{"default":-0.125,"tfidf":0.5}}','triplets?triplets_triplet=2',NULL,'Ada','2026-11-28 08:40:48.052118',NULL,'8783a83cefd7ba7fb1fdb78a69618623');
INSERT INTO "error_case" VALUES(4,1,'sentence','[8]','{"source":"labelling Rivers","predicted":"","sentences":1,"passages":[{"text":"Rome sentence 7.","article":"Rome","section":"Climate","role":"","placed":"Cluster 7"}],"models":["default"],"margins":{}}','relabel?relabel_labelling=Rivers',NULL,'Ben','2026-11-28 08:40:48.082722',NULL,'ae8e5dabe06fd5b2588e487e6b655566');
INSERT INTO "error_case" VALUES(5,1,'disagreement','[4,9,10]','{"source":"labelling Rivers","predicted":"","sentences":3,"passages":[{"text":"Rome sentence 3.","article":"Rome","section":"","role":"","placed":"Cluster 3"},{"text":"Rome sentence 8.","article":"Rome","section":"Climate","role":"","placed":"Cluster 8"},{"text":"Rome sentence 9.","article":"Rome","section":"Climate","role":"","placed":"Cluster 9"}],"models":["default"],"margins":{}}','relabel?relabel_labelling=Rivers',NULL,'Ben','2026-11-28 08:40:48.103230',NULL,'b4ec9f7a80e74e187b93e5c8f6cbfadf');
INSERT INTO "error_case" VALUES(6,1,'group','[5,6]','{"source":"labelling Rivers","predicted":"","sentences":2,"passages":[{"text":"Rome sentence 4.","article":"Rome","section":"","role":"","placed":"Cluster 4"},{"text":"Rome sentence 5.","article":"Rome","section":"","role":"","placed":"Cluster 5"}],"models":["default"],"margins":{}}','relabel?relabel_labelling=Rivers',NULL,'Ada','2026-11-28 08:40:48.105151','2026-11-28 08:40:48.366236','391b617ebaafed1c61316b32ae1a0414');
CREATE TABLE error_category (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	description TEXT NOT NULL, 
	colour INTEGER NOT NULL, 
	merged_into INTEGER, 
	version INTEGER NOT NULL, 
	person TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	deleted DATETIME, 
	CONSTRAINT fk_error_category_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT fk_error_category_merged_into FOREIGN KEY(merged_into) REFERENCES error_category (id) ON DELETE SET NULL
);
INSERT INTO "error_category" VALUES(1,1,'Shared words','Other sections share words.',0,NULL,0,'Ada','2026-11-28 08:40:48.133520',NULL);
INSERT INTO "error_category" VALUES(2,1,'Two topics','',1,NULL,0,'Ada','2026-11-28 08:40:48.164226',NULL);
INSERT INTO "error_category" VALUES(3,1,'Lead','A lead.',2,NULL,1,'Ben','2026-11-28 08:40:48.188021','2026-11-28 08:40:48.384043');
INSERT INTO "error_category" VALUES(4,1,'Equal words','',3,1,1,'Ada','2026-11-28 08:40:48.199811',NULL);
INSERT INTO "error_category" VALUES(5,2,'Negation','Words such as not.',0,NULL,0,'Ben','2026-11-28 08:40:48.399820',NULL);
CREATE TABLE error_coding (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	case_id INTEGER NOT NULL, 
	category_id INTEGER, 
	person TEXT NOT NULL, 
	given BOOLEAN NOT NULL, 
	undoes INTEGER, 
	created DATETIME NOT NULL, 
	CONSTRAINT fk_error_coding_case_id FOREIGN KEY(case_id) REFERENCES error_case (id) ON DELETE CASCADE, 
	CONSTRAINT fk_error_coding_category_id FOREIGN KEY(category_id) REFERENCES error_category (id) ON DELETE CASCADE, 
	CONSTRAINT fk_error_coding_undoes FOREIGN KEY(undoes) REFERENCES error_coding (id) ON DELETE CASCADE
);
INSERT INTO "error_coding" VALUES(1,1,1,'Ada',1,NULL,'2026-11-28 08:40:48.201219');
INSERT INTO "error_coding" VALUES(2,1,2,'Ada',1,NULL,'2026-11-28 08:40:48.225967');
INSERT INTO "error_coding" VALUES(3,2,4,'Ada',1,NULL,'2026-11-28 08:40:48.227299');
INSERT INTO "error_coding" VALUES(4,3,1,'Ada',1,NULL,'2026-11-28 08:40:48.228482');
INSERT INTO "error_coding" VALUES(5,3,1,'Ada',0,NULL,'2026-11-28 08:40:48.244063');
INSERT INTO "error_coding" VALUES(6,3,3,'Ada',1,NULL,'2026-11-28 08:40:48.245336');
INSERT INTO "error_coding" VALUES(7,4,NULL,'Ada',1,NULL,'2026-11-28 08:40:48.256456');
INSERT INTO "error_coding" VALUES(8,6,2,'Ada',1,NULL,'2026-11-28 08:40:48.257400');
INSERT INTO "error_coding" VALUES(9,5,2,'Ada',1,NULL,'2026-11-28 08:40:48.266948');
INSERT INTO "error_coding" VALUES(10,5,2,'Ada',0,9,'2026-11-28 08:40:48.291087');
INSERT INTO "error_coding" VALUES(11,1,1,'Ben',1,NULL,'2026-11-28 08:40:48.292335');
INSERT INTO "error_coding" VALUES(12,2,NULL,'Ben',1,NULL,'2026-11-28 08:40:48.293105');
INSERT INTO "error_coding" VALUES(13,2,2,'Ben',1,NULL,'2026-11-28 08:40:48.309228');
INSERT INTO "error_coding" VALUES(14,4,3,'Ben',1,NULL,'2026-11-28 08:40:48.319251');
CREATE TABLE error_note (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	case_id INTEGER NOT NULL, 
	note INTEGER, 
	text TEXT NOT NULL, 
	person TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT fk_error_note_case_id FOREIGN KEY(case_id) REFERENCES error_case (id) ON DELETE CASCADE, 
	CONSTRAINT fk_error_note_note FOREIGN KEY(note) REFERENCES error_note (id) ON DELETE CASCADE
);
INSERT INTO "error_note" VALUES(1,3,NULL,'Same words.','Ada','2026-11-28 08:40:48.053466');
INSERT INTO "error_note" VALUES(2,4,NULL,'Odd.','Ben','2026-11-28 08:40:48.084264');
INSERT INTO "error_note" VALUES(3,6,NULL,'Deleted later.','Ada','2026-11-28 08:40:48.117127');
INSERT INTO "error_note" VALUES(4,1,NULL,'First text.','Ben','2026-11-28 08:40:48.320303');
INSERT INTO "error_note" VALUES(5,1,4,'Better text.','Ben','2026-11-28 08:40:48.335351');
INSERT INTO "error_note" VALUES(6,1,NULL,'A second note.','Ben','2026-11-28 08:40:48.350484');
INSERT INTO "error_note" VALUES(7,5,NULL,'Only a note.','Cem','2026-11-28 08:40:48.352788');
CREATE TABLE error_sample (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	model TEXT NOT NULL, 
	population INTEGER NOT NULL, 
	seed INTEGER NOT NULL, 
	person TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT fk_error_sample_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE
);
INSERT INTO "error_sample" VALUES(1,1,'2 of 40 failures of default','default',40,7,'Ada','2026-11-28 08:40:47.975787');
CREATE TABLE failed_sign_in (
	key_hash TEXT NOT NULL, 
	count INTEGER NOT NULL, 
	last DATETIME NOT NULL, 
	CONSTRAINT pk_failed_sign_in PRIMARY KEY (key_hash)
);
CREATE TABLE filed_embedding (
	model_id INTEGER NOT NULL, 
	article_id INTEGER NOT NULL, 
	file_id INTEGER NOT NULL, 
	first INTEGER NOT NULL, 
	rows INTEGER NOT NULL, 
	CONSTRAINT pk_filed_embedding PRIMARY KEY (model_id, article_id), 
	CONSTRAINT fk_filed_embedding_model_id FOREIGN KEY(model_id) REFERENCES model (id) ON DELETE CASCADE, 
	CONSTRAINT fk_filed_embedding_article_id FOREIGN KEY(article_id) REFERENCES article (id) ON DELETE CASCADE, 
	CONSTRAINT fk_filed_embedding_file_id FOREIGN KEY(file_id) REFERENCES vector_file (id) ON DELETE CASCADE
);
CREATE TABLE import_entry (
	corpus_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	change BOOLEAN NOT NULL, 
	reason TEXT NOT NULL, 
	place TEXT NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT pk_import_entry PRIMARY KEY (corpus_id, number), 
	CONSTRAINT fk_import_entry_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE
);
CREATE TABLE job (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	kind TEXT NOT NULL, 
	title TEXT NOT NULL, 
	args TEXT NOT NULL, 
	status TEXT NOT NULL, 
	progress DOUBLE NOT NULL, 
	message TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	"after" INTEGER, 
	created DATETIME NOT NULL, 
	started DATETIME, 
	ended DATETIME, 
	error TEXT NOT NULL, 
	result TEXT NOT NULL, 
	queue TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	cancel BOOLEAN NOT NULL, 
	heartbeat DATETIME, 
	traceback TEXT NOT NULL, 
	queued DATETIME NOT NULL, 
	CONSTRAINT fk_job_after FOREIGN KEY("after") REFERENCES job (id) ON DELETE SET NULL
);
CREATE TABLE job_metric (
	job_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	step DOUBLE NOT NULL, 
	value DOUBLE, 
	CONSTRAINT pk_job_metric PRIMARY KEY (job_id, name, step), 
	CONSTRAINT fk_job_metric_job_id FOREIGN KEY(job_id) REFERENCES job (id) ON DELETE CASCADE
);
CREATE TABLE label (
	labelling_id INTEGER NOT NULL, 
	sentence_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	uncertain INTEGER NOT NULL, 
	note TEXT NOT NULL, 
	version INTEGER NOT NULL, 
	CONSTRAINT pk_label PRIMARY KEY (labelling_id, sentence_id), 
	CONSTRAINT fk_label_labelling_id FOREIGN KEY(labelling_id) REFERENCES labelling (id) ON DELETE CASCADE
);
CREATE TABLE label_cluster (
	labelling_id INTEGER NOT NULL, 
	number INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	colour INTEGER NOT NULL, 
	deleted BOOLEAN NOT NULL, 
	version INTEGER NOT NULL, 
	parent INTEGER, 
	CONSTRAINT pk_label_cluster PRIMARY KEY (labelling_id, number), 
	CONSTRAINT fk_label_cluster_labelling_id FOREIGN KEY(labelling_id) REFERENCES labelling (id) ON DELETE CASCADE
);
CREATE TABLE label_entry (
	labelling_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	value TEXT NOT NULL, 
	CONSTRAINT pk_label_entry PRIMARY KEY (labelling_id, kind, "key"), 
	CONSTRAINT fk_label_entry_labelling_id FOREIGN KEY(labelling_id) REFERENCES labelling (id) ON DELETE CASCADE
);
CREATE TABLE label_event (
	step_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	field TEXT NOT NULL, 
	sentence_id INTEGER, 
	old TEXT NOT NULL, 
	new TEXT NOT NULL, 
	probability DOUBLE, 
	CONSTRAINT pk_label_event PRIMARY KEY (step_id, position), 
	CONSTRAINT fk_label_event_step_id FOREIGN KEY(step_id) REFERENCES label_step (id) ON DELETE CASCADE
);
CREATE TABLE label_presence (
	labelling_id INTEGER NOT NULL, 
	person TEXT NOT NULL, 
	session TEXT NOT NULL, 
	seen DATETIME NOT NULL, 
	CONSTRAINT pk_label_presence PRIMARY KEY (labelling_id, person, session), 
	CONSTRAINT fk_label_presence_labelling_id FOREIGN KEY(labelling_id) REFERENCES labelling (id) ON DELETE CASCADE
);
CREATE TABLE label_start (
	labelling_id INTEGER NOT NULL, 
	sentence_id INTEGER NOT NULL, 
	source TEXT NOT NULL, 
	coder TEXT NOT NULL, 
	probability DOUBLE, 
	CONSTRAINT pk_label_start PRIMARY KEY (labelling_id, sentence_id), 
	CONSTRAINT fk_label_start_labelling_id FOREIGN KEY(labelling_id) REFERENCES labelling (id) ON DELETE CASCADE
);
CREATE TABLE label_step (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	labelling_id INTEGER NOT NULL, 
	kind TEXT NOT NULL, 
	operation TEXT NOT NULL, 
	summary TEXT NOT NULL, 
	person TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	target INTEGER, 
	reason TEXT NOT NULL, 
	selection_method TEXT NOT NULL, 
	size INTEGER NOT NULL, 
	coder TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT fk_label_step_labelling_id FOREIGN KEY(labelling_id) REFERENCES labelling (id) ON DELETE CASCADE
);
CREATE TABLE labelling (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	owner TEXT NOT NULL, 
	blind BOOLEAN NOT NULL, 
	article_id INTEGER, 
	origin TEXT NOT NULL, 
	sentences INTEGER NOT NULL, 
	created DATETIME NOT NULL, 
	deleted DATETIME, 
	CONSTRAINT fk_labelling_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT uq_labelling_name UNIQUE (name), 
	CONSTRAINT fk_labelling_article_id FOREIGN KEY(article_id) REFERENCES article (id) ON DELETE CASCADE
);
CREATE TABLE login (
	person TEXT NOT NULL, 
	password TEXT NOT NULL, 
	changed DATETIME NOT NULL, 
	CONSTRAINT pk_login PRIMARY KEY (person)
);
CREATE TABLE map (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	model_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	config TEXT NOT NULL, 
	seed INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	faithfulness DOUBLE, 
	sampled_from INTEGER NOT NULL, 
	created DATETIME NOT NULL, 
	sentence_ids BLOB NOT NULL, 
	points BLOB NOT NULL, 
	CONSTRAINT fk_map_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT fk_map_model_id FOREIGN KEY(model_id) REFERENCES model (id) ON DELETE CASCADE, 
	CONSTRAINT uq_map_digest UNIQUE (digest)
);
CREATE TABLE margin (
	run_id INTEGER NOT NULL, 
	split INTEGER NOT NULL, 
	triplet_ids BLOB NOT NULL, 
	margins BLOB NOT NULL, 
	CONSTRAINT pk_margin PRIMARY KEY (run_id, split), 
	CONSTRAINT fk_margin_run_id FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE CASCADE
);
CREATE TABLE model (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	name TEXT NOT NULL, 
	method TEXT NOT NULL, 
	config TEXT NOT NULL, 
	seed INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	corpus_id INTEGER, 
	triplet_set_id INTEGER, 
	metrics TEXT NOT NULL, 
	artifact TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	revision INTEGER DEFAULT 1 NOT NULL, 
	multilingual BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT uq_model_name UNIQUE (name), 
	CONSTRAINT uq_model_digest UNIQUE (digest), 
	CONSTRAINT fk_model_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE SET NULL, 
	CONSTRAINT fk_model_triplet_set_id FOREIGN KEY(triplet_set_id) REFERENCES triplet_set (id) ON DELETE SET NULL
);
CREATE TABLE paper_table (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	paper TEXT NOT NULL, 
	name TEXT NOT NULL, 
	profile TEXT NOT NULL, 
	arguments TEXT NOT NULL, 
	content TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT uq_paper_table_paper_name_profile UNIQUE (paper, name, profile)
);
CREATE TABLE person (
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	seen DATETIME, 
	CONSTRAINT pk_person PRIMARY KEY (name)
);
INSERT INTO "person" VALUES('Zoe','admin','2026-11-28 08:40:47.932134',NULL);
INSERT INTO "person" VALUES('Ada','labeller','2026-11-28 08:40:47.974336','2026-11-28 08:40:48.384540');
INSERT INTO "person" VALUES('Ben','labeller','2026-11-28 08:40:48.069114','2026-11-28 08:40:48.399243');
INSERT INTO "person" VALUES('Cem','labeller','2026-11-28 08:40:48.352067','2026-11-28 08:40:48.352383');
CREATE TABLE practice (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	labelling_id INTEGER NOT NULL, 
	person TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	items INTEGER NOT NULL, 
	correct INTEGER NOT NULL, 
	answers TEXT NOT NULL, 
	CONSTRAINT fk_practice_labelling_id FOREIGN KEY(labelling_id) REFERENCES labelling (id) ON DELETE CASCADE
);
CREATE TABLE prediction (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	labelling_id INTEGER NOT NULL, 
	wave TEXT DEFAULT '' NOT NULL, 
	model TEXT NOT NULL, 
	step INTEGER NOT NULL, 
	labels INTEGER NOT NULL, 
	sentences INTEGER NOT NULL, 
	codes TEXT NOT NULL, 
	report TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	sentence_ids BLOB NOT NULL, 
	probabilities BLOB NOT NULL, 
	CONSTRAINT fk_prediction_labelling_id FOREIGN KEY(labelling_id) REFERENCES labelling (id) ON DELETE CASCADE
);
CREATE TABLE run (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	kind TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	model_id INTEGER, 
	benchmark_id INTEGER, 
	triplet_set_id INTEGER, 
	corpus_id INTEGER, 
	clusterer TEXT NOT NULL, 
	config TEXT NOT NULL, 
	seed INTEGER NOT NULL, 
	seconds DOUBLE NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT uq_run_digest UNIQUE (digest), 
	CONSTRAINT fk_run_model_id FOREIGN KEY(model_id) REFERENCES model (id) ON DELETE CASCADE, 
	CONSTRAINT fk_run_benchmark_id FOREIGN KEY(benchmark_id) REFERENCES benchmark (id) ON DELETE CASCADE, 
	CONSTRAINT fk_run_triplet_set_id FOREIGN KEY(triplet_set_id) REFERENCES triplet_set (id) ON DELETE CASCADE, 
	CONSTRAINT fk_run_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE
);
CREATE TABLE saved_view (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	page TEXT NOT NULL, 
	name TEXT NOT NULL, 
	"query" TEXT NOT NULL, 
	person TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT uq_saved_view_page_name UNIQUE (page, name)
);
CREATE TABLE score (
	run_id INTEGER NOT NULL, 
	article_id INTEGER, 
	metric TEXT NOT NULL, 
	value DOUBLE NOT NULL, 
	low DOUBLE, 
	high DOUBLE, 
	n INTEGER NOT NULL, 
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	CONSTRAINT fk_score_run_id FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE CASCADE, 
	CONSTRAINT fk_score_article_id FOREIGN KEY(article_id) REFERENCES article (id) ON DELETE CASCADE
);
CREATE TABLE section (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	article_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	level INTEGER NOT NULL, 
	title TEXT NOT NULL, 
	path TEXT NOT NULL, 
	CONSTRAINT uq_section_article_id_position UNIQUE (article_id, position), 
	CONSTRAINT fk_section_article_id FOREIGN KEY(article_id) REFERENCES article (id) ON DELETE CASCADE
);
INSERT INTO "section" VALUES(1,1,0,1,'','[]');
INSERT INTO "section" VALUES(2,1,1,2,'Climate','[]');
INSERT INTO "section" VALUES(3,2,0,1,'','[]');
INSERT INTO "section" VALUES(4,2,1,2,'Climate','[]');
CREATE TABLE selection (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	person TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	origin TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	sentences INTEGER NOT NULL, 
	sentence_ids BLOB NOT NULL, 
	CONSTRAINT fk_selection_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE
);
CREATE TABLE sentence (
	text TEXT NOT NULL, 
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	article_id INTEGER NOT NULL, 
	section INTEGER NOT NULL, 
	paragraph INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	opens_paragraph BOOLEAN NOT NULL, 
	start INTEGER DEFAULT (-1) NOT NULL, 
	CONSTRAINT uq_sentence_article_id_position UNIQUE (article_id, position), 
	CONSTRAINT fk_sentence_article_id FOREIGN KEY(article_id) REFERENCES article (id) ON DELETE CASCADE
);
INSERT INTO "sentence" VALUES('Rome sentence 0.',1,1,0,0,0,1,-1);
INSERT INTO "sentence" VALUES('Rome sentence 1.',2,1,0,0,1,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 2.',3,1,0,0,2,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 3.',4,1,0,0,3,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 4.',5,1,0,0,4,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 5.',6,1,0,0,5,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 6.',7,1,1,0,6,1,-1);
INSERT INTO "sentence" VALUES('Rome sentence 7.',8,1,1,0,7,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 8.',9,1,1,0,8,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 9.',10,1,1,0,9,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 10.',11,1,1,0,10,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 11.',12,1,1,0,11,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 0.',13,2,0,0,0,1,-1);
INSERT INTO "sentence" VALUES('Rome sentence 1.',14,2,0,0,1,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 2.',15,2,0,0,2,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 3.',16,2,0,0,3,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 4.',17,2,0,0,4,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 5.',18,2,0,0,5,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 6.',19,2,1,0,6,1,-1);
INSERT INTO "sentence" VALUES('Rome sentence 7.',20,2,1,0,7,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 8.',21,2,1,0,8,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 9.',22,2,1,0,9,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 10.',23,2,1,0,10,0,-1);
INSERT INTO "sentence" VALUES('Rome sentence 11.',24,2,1,0,11,0,-1);
CREATE TABLE session (
	person TEXT NOT NULL, 
	method TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	seen DATETIME NOT NULL, 
	token_hash TEXT NOT NULL, 
	CONSTRAINT pk_session PRIMARY KEY (token_hash)
);
CREATE TABLE task (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	person TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	due DATETIME, 
	closed DATETIME, 
	instructions TEXT NOT NULL, 
	blind BOOLEAN NOT NULL, 
	settings TEXT NOT NULL, 
	gold_id INTEGER, 
	CONSTRAINT fk_task_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT uq_task_name UNIQUE (name), 
	CONSTRAINT fk_task_gold_id FOREIGN KEY(gold_id) REFERENCES labelling (id) ON DELETE SET NULL
);
CREATE TABLE task_item (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	task_id INTEGER NOT NULL, 
	article_id INTEGER NOT NULL, 
	first INTEGER NOT NULL, 
	last INTEGER NOT NULL, 
	person TEXT NOT NULL, 
	place INTEGER NOT NULL, 
	reason TEXT NOT NULL, 
	opened DATETIME, 
	done DATETIME, 
	CONSTRAINT fk_task_item_task_id FOREIGN KEY(task_id) REFERENCES task (id) ON DELETE CASCADE, 
	CONSTRAINT fk_task_item_article_id FOREIGN KEY(article_id) REFERENCES article (id) ON DELETE CASCADE
);
CREATE TABLE task_member (
	task_id INTEGER NOT NULL, 
	person TEXT NOT NULL, 
	labelling_id INTEGER, 
	quota INTEGER, 
	CONSTRAINT pk_task_member PRIMARY KEY (task_id, person), 
	CONSTRAINT fk_task_member_task_id FOREIGN KEY(task_id) REFERENCES task (id) ON DELETE CASCADE, 
	CONSTRAINT fk_task_member_labelling_id FOREIGN KEY(labelling_id) REFERENCES labelling (id) ON DELETE SET NULL
);
CREATE TABLE triplet (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	set_id INTEGER NOT NULL, 
	split INTEGER NOT NULL, 
	article_id INTEGER NOT NULL, 
	pivot_id INTEGER NOT NULL, 
	positive_id INTEGER NOT NULL, 
	negative_id INTEGER NOT NULL, 
	CONSTRAINT fk_triplet_set_id FOREIGN KEY(set_id) REFERENCES triplet_set (id) ON DELETE CASCADE
);
CREATE TABLE triplet_review (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	set_id INTEGER NOT NULL, 
	triplet_id INTEGER NOT NULL, 
	person TEXT NOT NULL, 
	verdict TEXT NOT NULL, 
	note TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT fk_triplet_review_set_id FOREIGN KEY(set_id) REFERENCES triplet_set (id) ON DELETE CASCADE
);
CREATE TABLE triplet_set (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	config TEXT NOT NULL, 
	seed INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	counts TEXT NOT NULL, 
	ready BOOLEAN NOT NULL, 
	created DATETIME NOT NULL, 
	revision INTEGER DEFAULT 1 NOT NULL, 
	CONSTRAINT fk_triplet_set_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT uq_triplet_set_name UNIQUE (name)
);
CREATE TABLE vector_file (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	model_id INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	size INTEGER NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT fk_vector_file_model_id FOREIGN KEY(model_id) REFERENCES model (id) ON DELETE CASCADE
);
CREATE TABLE vector_index (
	model_id INTEGER NOT NULL, 
	corpus_id INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	size INTEGER NOT NULL, 
	vectors INTEGER NOT NULL, 
	recall DOUBLE NOT NULL, 
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	created DATETIME NOT NULL, 
	CONSTRAINT uq_vector_index_model_id UNIQUE (model_id, corpus_id), 
	CONSTRAINT fk_vector_index_model_id FOREIGN KEY(model_id) REFERENCES model (id) ON DELETE CASCADE, 
	CONSTRAINT fk_vector_index_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE
);
CREATE TABLE worker (
	owner TEXT NOT NULL, 
	queue TEXT NOT NULL, 
	started DATETIME NOT NULL, 
	heartbeat DATETIME NOT NULL, 
	CONSTRAINT pk_worker PRIMARY KEY (owner)
);
CREATE INDEX ix_job_after ON job ("after");
CREATE INDEX ix_job_status ON job (status);
CREATE INDEX ix_session_person ON session (person);
CREATE INDEX ix_api_token_person ON api_token (person);
CREATE INDEX ix_corpus_edit_corpus_id ON corpus_edit (corpus_id);
CREATE INDEX ix_triplet_set_corpus_id ON triplet_set (corpus_id);
CREATE INDEX ix_benchmark_corpus_id ON benchmark (corpus_id);
CREATE INDEX ix_selection_corpus_id ON selection (corpus_id);
CREATE INDEX ix_error_sample_corpus_id ON error_sample (corpus_id);
CREATE INDEX ix_error_category_corpus_id ON error_category (corpus_id);
CREATE INDEX ix_error_category_merged_into ON error_category (merged_into);
CREATE INDEX ix_triplet_set_id_split_id ON triplet (set_id, split, id);
CREATE INDEX ix_triplet_review_set_id_triplet_id_person ON triplet_review (set_id, triplet_id, person);
CREATE INDEX ix_model_corpus_id ON model (corpus_id);
CREATE INDEX ix_model_triplet_set_id ON model (triplet_set_id);
CREATE INDEX ix_benchmark_item_article_id ON benchmark_item (article_id);
CREATE INDEX ix_labelling_article_id ON labelling (article_id);
CREATE INDEX ix_labelling_corpus_id ON labelling (corpus_id);
CREATE INDEX ix_error_case_sample_id ON error_case (sample_id);
CREATE INDEX ix_error_case_corpus_id ON error_case (corpus_id);
CREATE INDEX ix_embedding_article_id ON embedding (article_id);
CREATE INDEX ix_vector_file_model_id ON vector_file (model_id);
CREATE INDEX ix_vector_index_model_id ON vector_index (model_id);
CREATE INDEX ix_vector_index_corpus_id ON vector_index (corpus_id);
CREATE INDEX ix_run_benchmark_id ON run (benchmark_id);
CREATE INDEX ix_run_corpus_id ON run (corpus_id);
CREATE INDEX ix_run_model_id ON run (model_id);
CREATE INDEX ix_run_triplet_set_id ON run (triplet_set_id);
CREATE INDEX ix_map_model_id ON map (model_id);
CREATE INDEX ix_map_corpus_id ON map (corpus_id);
CREATE INDEX ix_label_step_labelling_id ON label_step (labelling_id);
CREATE INDEX ix_prediction_labelling_id ON prediction (labelling_id);
CREATE INDEX ix_practice_labelling_id ON practice (labelling_id);
CREATE INDEX ix_task_corpus_id ON task (corpus_id);
CREATE INDEX ix_task_gold_id ON task (gold_id);
CREATE INDEX ix_error_note_note ON error_note (note);
CREATE INDEX ix_error_note_case_id ON error_note (case_id);
CREATE INDEX ix_error_coding_case_id ON error_coding (case_id);
CREATE INDEX ix_error_coding_category_id ON error_coding (category_id);
CREATE INDEX ix_error_coding_undoes ON error_coding (undoes);
CREATE INDEX ix_filed_embedding_file_id ON filed_embedding (file_id);
CREATE INDEX ix_filed_embedding_article_id ON filed_embedding (article_id);
CREATE INDEX ix_assignment_article_id ON assignment (article_id);
CREATE INDEX ix_score_article_id ON score (article_id);
CREATE INDEX ix_score_run_id ON score (run_id);
CREATE INDEX ix_task_member_labelling_id ON task_member (labelling_id);
CREATE INDEX ix_task_item_task_id ON task_item (task_id);
CREATE INDEX ix_task_item_article_id ON task_item (article_id);
COMMIT;
