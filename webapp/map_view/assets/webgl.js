// Draws points with WebGL2: 16 bits per coordinate, one byte for the category, one for the state of each point. Colours,
// shapes and visibility of the categories are a texture of two rows.
const SELECTED = 1, KINDS = 256;
const POINTS = { rest: 0, chosen: 1, found: 2, context: 3 };

const VERTEX = `#version 300 es
precision highp float;
in vec2 place;
in uint kind;
in uint state;
uniform vec2 middle, scale;
uniform float size;
uniform int pass;
uniform bool some;
uniform sampler2D palette;
uniform vec4 ink, grey;
out vec4 colour;
flat out int shape;
void main() {
  bool chosen = (state & ${SELECTED}u) != 0u;
  vec4 look = texelFetch(palette, ivec2(kind, 1), 0);
  bool shown = pass == ${POINTS.context} || look.g == 0.0
    && (pass == ${POINTS.rest} ? !(some && chosen) : pass == ${POINTS.chosen} ? chosen : true);
  gl_Position = shown ? vec4((place - middle) * scale, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
  bool quiet = pass == ${POINTS.context} || pass == ${POINTS.rest} && some;
  colour = pass == ${POINTS.found} ? ink : quiet ? grey : texelFetch(palette, ivec2(kind, 0), 0);
  shape = pass == ${POINTS.found} ? -1 : quiet ? 0 : int(look.r * 255.0 + 0.5);
  gl_PointSize = pass == ${POINTS.found} ? size + 7.0 : quiet ? max(size * 0.8, 1.0) : size;
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 colour;
flat in int shape;
out vec4 painted;
void main() {
  vec2 at = gl_PointCoord * 2.0 - 1.0;
  float far = shape == 1 ? max(abs(at.x), abs(at.y)) * 1.1
    : shape == 2 ? abs(at.x) + abs(at.y)
    : shape == 3 ? max(at.y * 1.1, abs(at.x) * 1.6 - at.y * 0.9 - 0.4)
    : length(at);
  if (far > 1.0 || (shape < 0 && far < 0.72)) discard;
  painted = vec4(colour.rgb * colour.a, colour.a);
}`;

/** @param {WebGL2RenderingContext} gl */
function compiled(gl) {
  const program = gl.createProgram();
  for (const { kind, source } of [{ kind: gl.VERTEX_SHADER, source: VERTEX }, { kind: gl.FRAGMENT_SHADER, source: FRAGMENT }]) {
    const shader = /** @type {WebGLShader} */ (gl.createShader(kind));
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return gl.getProgramParameter(program, gl.LINK_STATUS) ? program : null;
}

/** @param {string} text @param {number} alpha */
function rgba(text, alpha) {
  const number = Number.parseInt(text.slice(1), 16);
  return [(number >> 16) / 255, ((number >> 8) & 255) / 255, (number & 255) / 255, alpha];
}

class Drawing {
  /** Returns null if the browser has no WebGL2. @param {HTMLCanvasElement} canvas */
  static on(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true });
    const program = gl && compiled(gl);
    return program ? new Drawing(gl, program) : null;
  }

  /** @param {WebGL2RenderingContext} gl @param {WebGLProgram} program */
  constructor(gl, program) {
    this.gl = gl;
    this.some = false;
    this.program = program;
    this.count = this.others = this.rings = this.outside = 0;
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    this.all = this.arrays("place", "kind", "state");
    this.ringed = this.arrays("place", "kind");
    this.around = this.arrays("place");
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture()); // the palette
    for (const side of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER]) gl.texParameteri(gl.TEXTURE_2D, side, gl.NEAREST);
    this.rows = new Uint32Array(0);
    this.orders = gl.createBuffer();
    gl.bindVertexArray(this.all.array);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.orders);
  }

  /** A vertex array with a buffer for each of the attributes; the others are 0. @param {("place" | "kind" | "state")[]} names */
  arrays(...names) {
    const gl = this.gl, array = gl.createVertexArray();
    const made = /** @type {{ array: WebGLVertexArrayObject, place: WebGLBuffer, kind: WebGLBuffer, state: WebGLBuffer }} */ ({ array });
    gl.bindVertexArray(array);
    for (const name of names) {
      made[name] = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, made[name]);
      const at = gl.getAttribLocation(this.program, name);
      gl.enableVertexAttribArray(at);
      if (name === "place") gl.vertexAttribPointer(at, 2, gl.UNSIGNED_SHORT, false, 0, 0);
      else gl.vertexAttribIPointer(at, 1, gl.UNSIGNED_BYTE, 0, 0);
    }
    for (const name of ["kind", "state"]) gl.vertexAttribI4ui(gl.getAttribLocation(this.program, name), 0, 0, 0, 0);
    return made;
  }

  /** @param {WebGLBuffer} buffer @param {Uint8Array<ArrayBuffer> | Uint16Array<ArrayBuffer>} values */
  fill(buffer, values) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, buffer);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, values, this.gl.STATIC_DRAW);
  }

  /** The loaded points; `order` chooses the ones that are drawn. @param {Scene} scene */
  points(scene) {
    this.fill(this.all.place, scene.places);
    this.fill(this.all.kind, scene.kinds);
    this.states(new Uint8Array(scene.kinds.length), false);
    this.order({ rows: new Uint32Array(0), others: 0 });
  }

  /** @param {Order} order */
  order({ rows, others }) {
    const gl = this.gl;
    [this.rows, this.count, this.others] = [rows, rows.length, others];
    gl.bindVertexArray(this.all.array);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, rows, gl.STATIC_DRAW);
  }

  /**
   * `some` are selected, and the others in grey.
   * @param {Uint8Array<ArrayBuffer>} values @param {boolean} some
   */
  states(values, some) {
    this.some = some;
    this.fill(this.all.state, values);
  }

  /**
   * Points that a search found; they are drawn also where they are not loaded.
   * @param {Uint16Array<ArrayBuffer>} places @param {Uint8Array<ArrayBuffer>} kinds
   */
  found(places, kinds) {
    this.rings = kinds.length;
    this.fill(this.ringed.place, places);
    this.fill(this.ringed.kind, kinds);
  }

  /** Points of the map that a filter leaves out; they are drawn in grey below the others. @param {Uint16Array<ArrayBuffer>} places */
  context(places) {
    this.outside = places.length / 2;
    this.fill(this.around.place, places);
  }

  /** @param {Look} look @param {number[]} hidden */
  look({ classes, opacity, ink, grey }, hidden) {
    const gl = this.gl, texels = new Uint8Array(2 * 4 * KINDS);
    classes.forEach((one, i) => {
      const colour = rgba(one.colour, one.other && classes.length > 1 ? opacity * 0.6 : opacity);
      texels.set(colour.map((part) => Math.round(255 * part)), 4 * i);
      texels.set([one.shape, hidden.includes(i) ? 255 : 0], 4 * (KINDS + i));
    });
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, KINDS, 2, 0, gl.RGBA, gl.UNSIGNED_BYTE, texels);
    gl.uniform4fv(this.at("ink"), rgba(ink, 1));
    gl.uniform4fv(this.at("grey"), rgba(grey, 0.45));
  }

  /** @param {string} name */
  at(name) {
    return this.gl.getUniformLocation(this.program, name);
  }

  /**
   * `camera`: centre in grid units, and grid units per pixel; `size` in CSS pixels; `share` of the points.
   * @param {Camera} camera @param {number} size @param {number} share
   */
  draw(camera, size, share) {
    const gl = this.gl, canvas = /** @type {HTMLCanvasElement} */ (gl.canvas), ratio = canvas.width / canvas.clientWidth || 1;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(this.at("middle"), camera.x, camera.y);
    gl.uniform2f(this.at("scale"), 2 / (canvas.clientWidth * camera.unit), 2 / (canvas.clientHeight * camera.unit));
    gl.uniform1f(this.at("size"), size * ratio);
    gl.uniform1i(this.at("some"), this.some ? 1 : 0);
    if (this.outside) {
      gl.bindVertexArray(this.around.array);
      gl.uniform1i(this.at("pass"), POINTS.context);
      gl.drawArrays(gl.POINTS, 0, this.outside);
    }
    gl.bindVertexArray(this.all.array);
    for (const pass of [POINTS.rest, ...(this.some ? [POINTS.chosen] : [])]) {
      gl.uniform1i(this.at("pass"), pass);
      for (const [start, end] of [[0, this.others], [this.others, this.count]]) {
        gl.drawElements(gl.POINTS, Math.ceil(share * (end - start)), gl.UNSIGNED_INT, 4 * start);
      }
    }
    if (!this.rings) return;
    gl.bindVertexArray(this.ringed.array);
    gl.uniform1i(this.at("pass"), POINTS.found);
    gl.drawArrays(gl.POINTS, 0, this.rings);
  }

  // Waits until everything is drawn.
  finish() {
    this.gl.readPixels(0, 0, 1, 1, this.gl.RGBA, this.gl.UNSIGNED_BYTE, new Uint8Array(4));
  }

  end() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}
