// Draws points with WebGL2: 16 bits per coordinate, one byte for the category, one for the state of each point.
const SELECTED = 1, FOUND = 2, KINDS = 32;
const POINTS = { rest: 0, chosen: 1, found: 2 };

const VERTEX = `#version 300 es
precision highp float;
in vec2 place;
in uint kind;
in uint state;
uniform vec2 middle, scale;
uniform float size;
uniform uint hidden;
uniform int pass;
uniform bool some;
uniform vec4 colours[${KINDS}];
uniform int shapes[${KINDS}];
uniform vec4 ink;
out vec4 colour;
flat out int shape;
void main() {
  bool chosen = (state & ${SELECTED}u) != 0u, found = (state & ${FOUND}u) != 0u;
  bool shown = ((hidden >> kind) & 1u) == 0u
    && (pass == ${POINTS.rest} ? !(some && chosen) : pass == ${POINTS.chosen} ? chosen : found);
  gl_Position = shown ? vec4((place - middle) * scale, 0.0, 1.0) : vec4(2.0, 2.0, 2.0, 1.0);
  colour = pass == ${POINTS.found} ? ink : colours[kind];
  if (pass == ${POINTS.rest} && some) colour.a *= 0.2;
  shape = pass == ${POINTS.found} ? -1 : shapes[kind];
  gl_PointSize = pass == ${POINTS.found} ? size + 7.0 : size;
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

function compiled(gl) {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, VERTEX], [gl.FRAGMENT_SHADER, FRAGMENT]]) {
    const shader = gl.createShader(kind);
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return gl.getProgramParameter(program, gl.LINK_STATUS) ? program : null;
}

function rgba(text, alpha) {
  const number = Number.parseInt(text.slice(1), 16);
  return [(number >> 16) / 255, ((number >> 8) & 255) / 255, (number & 255) / 255, alpha];
}

class Drawing {
  // Returns null if the browser has no WebGL2.
  static on(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true });
    const program = gl && compiled(gl);
    return program ? new Drawing(gl, program) : null;
  }

  constructor(gl, program) {
    this.gl = gl;
    this.program = program;
    this.count = 0;
    this.buffers = { order: gl.createBuffer() };
    gl.useProgram(program);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    for (const name of ["place", "kind", "state"]) {
      this.buffers[name] = gl.createBuffer();
      gl.bindBuffer(gl.ARRAY_BUFFER, this.buffers[name]);
      const at = gl.getAttribLocation(program, name);
      gl.enableVertexAttribArray(at);
      if (name === "place") gl.vertexAttribPointer(at, 2, gl.UNSIGNED_SHORT, false, 0, 0);
      else gl.vertexAttribIPointer(at, 1, gl.UNSIGNED_BYTE, 0, 0);
    }
  }

  fill(name, values) {
    this.gl.bindBuffer(this.gl.ARRAY_BUFFER, this.buffers[name]);
    this.gl.bufferData(this.gl.ARRAY_BUFFER, values, this.gl.STATIC_DRAW);
  }

  // Points of the category `last` ("other") are drawn first, below all others.
  points(scene, last) {
    this.count = scene.kinds.length;
    this.fill("place", scene.places);
    this.fill("kind", scene.kinds);
    const order = new Uint32Array(this.count);
    let at = 0;
    for (let row = 0; row < this.count; row++) if (scene.kinds[row] === last) order[at++] = row;
    for (let row = 0; row < this.count; row++) if (scene.kinds[row] !== last) order[at++] = row;
    this.gl.bindBuffer(this.gl.ELEMENT_ARRAY_BUFFER, this.buffers.order);
    this.gl.bufferData(this.gl.ELEMENT_ARRAY_BUFFER, order, this.gl.STATIC_DRAW);
    this.states(new Uint8Array(this.count), false, false);
  }

  states(values, some, found) {
    this.some = some;
    this.found = found;
    this.fill("state", values);
  }

  look({ classes, opacity, ink }) {
    const colours = new Float32Array(4 * KINDS), shapes = new Int32Array(KINDS);
    classes.forEach((one, i) => {
      colours.set(rgba(one.colour, one.other && classes.length > 1 ? opacity * 0.6 : opacity), 4 * i);
      shapes[i] = one.shape;
    });
    this.gl.uniform4fv(this.at("colours"), colours);
    this.gl.uniform1iv(this.at("shapes"), shapes);
    this.gl.uniform4fv(this.at("ink"), rgba(ink, 1));
  }

  at(name) {
    return this.gl.getUniformLocation(this.program, name);
  }

  // `camera`: centre in grid units, and grid units per pixel; `size` in CSS pixels.
  draw(camera, size, hidden) {
    const gl = this.gl, canvas = gl.canvas, ratio = canvas.width / canvas.clientWidth || 1;
    gl.viewport(0, 0, canvas.width, canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.uniform2f(this.at("middle"), camera.x, camera.y);
    gl.uniform2f(this.at("scale"), 2 / (canvas.clientWidth * camera.unit), 2 / (canvas.clientHeight * camera.unit));
    gl.uniform1f(this.at("size"), size * ratio);
    gl.uniform1ui(this.at("hidden"), hidden);
    gl.uniform1i(this.at("some"), this.some ? 1 : 0);
    const passes = [POINTS.rest, ...(this.some ? [POINTS.chosen] : []), ...(this.found ? [POINTS.found] : [])];
    for (const pass of passes) {
      gl.uniform1i(this.at("pass"), pass);
      gl.drawElements(gl.POINTS, this.count, gl.UNSIGNED_INT, 0);
    }
  }

  end() {
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }
}
