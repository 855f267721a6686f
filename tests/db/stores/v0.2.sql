BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0023');
CREATE TABLE api_token (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	person TEXT NOT NULL, 
	name TEXT NOT NULL, 
	token_hash TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	used DATETIME, 
	expires DATETIME NOT NULL, 
	revoked DATETIME, 
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
	sentences INTEGER NOT NULL, topic TEXT DEFAULT '' NOT NULL, part TEXT DEFAULT '' NOT NULL, 
	CONSTRAINT fk_article_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT uq_article_corpus_id_position UNIQUE (corpus_id, position)
);
CREATE TABLE assignment (
	run_id INTEGER NOT NULL, 
	article_id INTEGER NOT NULL, 
	labels BLOB NOT NULL, 
	CONSTRAINT pk_assignment PRIMARY KEY (run_id, article_id), 
	CONSTRAINT fk_assignment_run_id FOREIGN KEY(run_id) REFERENCES run (id) ON DELETE CASCADE, 
	CONSTRAINT fk_assignment_article_id FOREIGN KEY(article_id) REFERENCES article (id) ON DELETE CASCADE
);
CREATE TABLE audit_event (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	created DATETIME NOT NULL, 
	author TEXT NOT NULL, 
	action TEXT NOT NULL, 
	person TEXT NOT NULL, 
	detail TEXT NOT NULL
);
CREATE TABLE benchmark (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	config TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	counts TEXT NOT NULL, 
	created DATETIME NOT NULL, revision INTEGER DEFAULT 1 NOT NULL, 
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
	ready BOOLEAN NOT NULL, 
	created DATETIME NOT NULL, 
	articles INTEGER NOT NULL, 
	sections INTEGER NOT NULL, 
	paragraphs INTEGER NOT NULL, 
	sentences INTEGER NOT NULL, 
	report TEXT NOT NULL, 
	CONSTRAINT uq_corpus_name UNIQUE (name)
);
CREATE TABLE corpus_column (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	name TEXT NOT NULL, 
	level TEXT NOT NULL, 
	type TEXT NOT NULL, 
	about TEXT NOT NULL, 
	CONSTRAINT fk_corpus_column_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT uq_corpus_column_corpus_id UNIQUE (corpus_id, level, name)
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
	sample_id INTEGER, 
	kind TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	sentence_ids TEXT NOT NULL, 
	facts TEXT NOT NULL, 
	permalink TEXT NOT NULL, 
	deleted DATETIME, 
	person TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT uq_error_case_corpus_id UNIQUE (corpus_id, digest), 
	CONSTRAINT fk_error_case_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT fk_error_case_sample_id FOREIGN KEY(sample_id) REFERENCES error_sample (id) ON DELETE SET NULL
);
CREATE TABLE error_category (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	corpus_id INTEGER NOT NULL, 
	merged_into INTEGER, 
	name TEXT NOT NULL, 
	description TEXT NOT NULL, 
	colour INTEGER NOT NULL, 
	version INTEGER NOT NULL, 
	deleted DATETIME, 
	person TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT fk_error_category_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT fk_error_category_merged_into FOREIGN KEY(merged_into) REFERENCES error_category (id) ON DELETE SET NULL
);
CREATE TABLE error_coding (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	case_id INTEGER NOT NULL, 
	category_id INTEGER, 
	undoes INTEGER, 
	given BOOLEAN NOT NULL, 
	person TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT fk_error_coding_case_id FOREIGN KEY(case_id) REFERENCES error_case (id) ON DELETE CASCADE, 
	CONSTRAINT fk_error_coding_category_id FOREIGN KEY(category_id) REFERENCES error_category (id) ON DELETE CASCADE, 
	CONSTRAINT fk_error_coding_undoes FOREIGN KEY(undoes) REFERENCES error_coding (id) ON DELETE CASCADE
);
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
CREATE TABLE job (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	kind TEXT NOT NULL, 
	title TEXT NOT NULL, 
	args TEXT NOT NULL, 
	status TEXT NOT NULL, 
	queue TEXT NOT NULL, 
	progress DOUBLE NOT NULL, 
	message TEXT NOT NULL, 
	attempt INTEGER NOT NULL, 
	owner TEXT NOT NULL, 
	"after" INTEGER, 
	cancel BOOLEAN NOT NULL, 
	created DATETIME NOT NULL, 
	queued DATETIME NOT NULL, 
	started DATETIME, 
	heartbeat DATETIME, 
	ended DATETIME, 
	error TEXT NOT NULL, 
	traceback TEXT NOT NULL, 
	result TEXT NOT NULL, 
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
	version INTEGER NOT NULL, parent INTEGER, 
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
	CONSTRAINT uq_labelling_name UNIQUE (name), 
	CONSTRAINT fk_labelling_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
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
	created DATETIME NOT NULL, revision INTEGER DEFAULT 1 NOT NULL, multilingual BOOLEAN DEFAULT 0 NOT NULL, 
	CONSTRAINT fk_model_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE SET NULL, 
	CONSTRAINT fk_model_triplet_set_id FOREIGN KEY(triplet_set_id) REFERENCES triplet_set (id) ON DELETE SET NULL, 
	CONSTRAINT uq_model_name UNIQUE (name), 
	CONSTRAINT uq_model_digest UNIQUE (digest)
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
	created DATETIME NOT NULL, seen DATETIME, 
	CONSTRAINT pk_person PRIMARY KEY (name)
);
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
CREATE TABLE "run" (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	kind TEXT NOT NULL, 
	digest TEXT NOT NULL, 
	model_id INTEGER, 
	benchmark_id INTEGER, 
	triplet_set_id INTEGER, 
	clusterer TEXT NOT NULL, 
	config TEXT NOT NULL, 
	seed INTEGER NOT NULL, 
	seconds DOUBLE NOT NULL, 
	created DATETIME NOT NULL, 
	corpus_id INTEGER, 
	CONSTRAINT fk_run_benchmark_id FOREIGN KEY(benchmark_id) REFERENCES benchmark (id) ON DELETE CASCADE, 
	CONSTRAINT fk_run_triplet_set_id FOREIGN KEY(triplet_set_id) REFERENCES triplet_set (id) ON DELETE CASCADE, 
	CONSTRAINT uq_run_digest UNIQUE (digest), 
	CONSTRAINT fk_run_model_id FOREIGN KEY(model_id) REFERENCES model (id) ON DELETE CASCADE, 
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
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	run_id INTEGER NOT NULL, 
	article_id INTEGER, 
	metric TEXT NOT NULL, 
	value DOUBLE NOT NULL, 
	low DOUBLE, 
	high DOUBLE, 
	n INTEGER NOT NULL, 
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
	CONSTRAINT fk_section_article_id FOREIGN KEY(article_id) REFERENCES article (id) ON DELETE CASCADE, 
	CONSTRAINT uq_section_article_id_position UNIQUE (article_id, position)
);
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
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	article_id INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	section INTEGER NOT NULL, 
	paragraph INTEGER NOT NULL, 
	opens_paragraph BOOLEAN NOT NULL, 
	text TEXT NOT NULL, 
	CONSTRAINT fk_sentence_article_id FOREIGN KEY(article_id) REFERENCES article (id) ON DELETE CASCADE, 
	CONSTRAINT uq_sentence_article_id_position UNIQUE (article_id, position)
);
CREATE TABLE session (
	token_hash TEXT NOT NULL, 
	person TEXT NOT NULL, 
	method TEXT NOT NULL, 
	created DATETIME NOT NULL, 
	seen DATETIME NOT NULL, 
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
	CONSTRAINT uq_task_name UNIQUE (name), 
	CONSTRAINT fk_task_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
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
	created DATETIME NOT NULL, revision INTEGER DEFAULT 1 NOT NULL, 
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
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	model_id INTEGER NOT NULL, 
	corpus_id INTEGER NOT NULL, 
	digest TEXT NOT NULL, 
	size INTEGER NOT NULL, 
	vectors INTEGER NOT NULL, 
	recall DOUBLE NOT NULL, 
	created DATETIME NOT NULL, 
	CONSTRAINT fk_vector_index_model_id FOREIGN KEY(model_id) REFERENCES model (id) ON DELETE CASCADE, 
	CONSTRAINT fk_vector_index_corpus_id FOREIGN KEY(corpus_id) REFERENCES corpus (id) ON DELETE CASCADE, 
	CONSTRAINT uq_vector_index_model_id UNIQUE (model_id, corpus_id)
);
CREATE TABLE worker (
	owner TEXT NOT NULL, 
	queue TEXT NOT NULL, 
	started DATETIME NOT NULL, 
	heartbeat DATETIME NOT NULL, 
	CONSTRAINT pk_worker PRIMARY KEY (owner)
);
CREATE INDEX ix_job_status ON job (status);
CREATE INDEX ix_job_after ON job ("after");
CREATE INDEX ix_triplet_set_corpus_id ON triplet_set (corpus_id);
CREATE INDEX ix_triplet_set_id_split_id ON triplet (set_id, split, id);
CREATE INDEX ix_model_corpus_id ON model (corpus_id);
CREATE INDEX ix_model_triplet_set_id ON model (triplet_set_id);
CREATE INDEX ix_embedding_article_id ON embedding (article_id);
CREATE INDEX ix_benchmark_corpus_id ON benchmark (corpus_id);
CREATE INDEX ix_benchmark_item_article_id ON benchmark_item (article_id);
CREATE INDEX ix_assignment_article_id ON assignment (article_id);
CREATE INDEX ix_score_run_id ON score (run_id);
CREATE INDEX ix_score_article_id ON score (article_id);
CREATE INDEX ix_map_corpus_id ON map (corpus_id);
CREATE INDEX ix_map_model_id ON map (model_id);
CREATE INDEX ix_run_benchmark_id ON run (benchmark_id);
CREATE INDEX ix_run_model_id ON run (model_id);
CREATE INDEX ix_run_triplet_set_id ON run (triplet_set_id);
CREATE INDEX ix_run_corpus_id ON run (corpus_id);
CREATE INDEX ix_triplet_review_set_id_triplet_id_person ON triplet_review (set_id, triplet_id, person);
CREATE INDEX ix_labelling_corpus_id ON labelling (corpus_id);
CREATE INDEX ix_labelling_article_id ON labelling (article_id);
CREATE INDEX ix_label_step_labelling_id ON label_step (labelling_id);
CREATE INDEX ix_vector_file_model_id ON vector_file (model_id);
CREATE INDEX ix_filed_embedding_article_id ON filed_embedding (article_id);
CREATE INDEX ix_filed_embedding_file_id ON filed_embedding (file_id);
CREATE INDEX ix_vector_index_model_id ON vector_index (model_id);
CREATE INDEX ix_vector_index_corpus_id ON vector_index (corpus_id);
CREATE INDEX ix_session_person ON session (person);
CREATE INDEX ix_api_token_person ON api_token (person);
CREATE INDEX ix_selection_corpus_id ON selection (corpus_id);
CREATE INDEX ix_practice_labelling_id ON practice (labelling_id);
CREATE INDEX ix_task_corpus_id ON task (corpus_id);
CREATE INDEX ix_task_gold_id ON task (gold_id);
CREATE INDEX ix_task_member_labelling_id ON task_member (labelling_id);
CREATE INDEX ix_task_item_task_id ON task_item (task_id);
CREATE INDEX ix_task_item_article_id ON task_item (article_id);
CREATE INDEX ix_error_sample_corpus_id ON error_sample (corpus_id);
CREATE INDEX ix_error_case_corpus_id ON error_case (corpus_id);
CREATE INDEX ix_error_case_sample_id ON error_case (sample_id);
CREATE INDEX ix_error_note_case_id ON error_note (case_id);
CREATE INDEX ix_error_note_note ON error_note (note);
CREATE INDEX ix_error_category_corpus_id ON error_category (corpus_id);
CREATE INDEX ix_error_category_merged_into ON error_category (merged_into);
CREATE INDEX ix_error_coding_case_id ON error_coding (case_id);
CREATE INDEX ix_error_coding_category_id ON error_coding (category_id);
CREATE INDEX ix_error_coding_undoes ON error_coding (undoes);
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('run',0);
COMMIT;
