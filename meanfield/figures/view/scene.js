// Drawing with WebGL 2: densities on a globe or a map, points, the axes of a cloud.

const QUAD = `#version 300 es
void main() { gl_Position = vec4(vec2(gl_VertexID & 1, gl_VertexID >> 1) * 4.0 - 1.0, 0.0, 1.0); }`;

// The density: rays through pixels of a globe, or the inverse of Mollweide's map.
const SURFACE = `#version 300 es
precision highp float; precision highp int;
uniform vec2 size; uniform mat3 camera; uniform float share, radius; uniform bool map, grid;
uniform sampler2D first, second, palette;
out vec4 colour;
const float PI = 3.14159265358979;
float line(float angle, float width) {
  float step = PI / 6.0, gap = abs(fract(angle / step + 0.5) - 0.5) * step;
  return 1.0 - smoothstep(0.5 * width, 1.5 * width, gap);
}
void main() {
  vec2 p = (gl_FragCoord.xy - 0.5 * size) / radius;
  vec3 seen; float cover; float pixel = 1.0 / radius;
  if (map) {
    vec2 q = p / vec2(2.0 * sqrt(2.0), sqrt(2.0));
    float r = length(q);
    cover = 1.0 - smoothstep(1.0 - pixel, 1.0, r);
    float t = asin(clamp(q.y, -1.0, 1.0)), lat = asin(clamp((2.0 * t + sin(2.0 * t)) / PI, -1.0, 1.0));
    float lon = PI * q.x / max(cos(t), 1e-6);
    seen = vec3(cos(lat) * sin(lon), sin(lat), cos(lat) * cos(lon));
  } else {
    float r = length(p);
    cover = 1.0 - smoothstep(1.0 - 1.5 * pixel, 1.0, r);
    p /= max(r, 1.0);
    seen = vec3(p, sqrt(max(0.0, 1.0 - dot(p, p))));
  }
  if (cover <= 0.0) discard;
  vec3 x = seen * camera;
  float lon = atan(x.y, x.x), lat = asin(clamp(x.z, -1.0, 1.0));
  vec2 uv = vec2(lon / (2.0 * PI) + 0.5, lat / PI + 0.5);
  // Explicit level: derivatives jump where longitudes do.
  float value = mix(textureLod(first, uv, 0.0).r, textureLod(second, uv, 0.0).r, share);
  vec3 shade = textureLod(palette, vec2((value * 255.0 + 0.5) / 256.0, 0.5), 0.0).rgb;
  if (grid) {
    float near = max(line(lat, pixel), abs(x.z) > 0.985 ? 0.0 : line(lon, pixel / max(cos(lat), 0.05)));
    shade = mix(shade, vec3(0.75), 0.22 * near);
  }
  colour = vec4(shade * cover, cover);
}`;

// Points on the globe, on the map, or in a cloud.
const DOTS = `#version 300 es
precision highp float; precision highp int;
uniform mat3 camera; uniform vec2 size; uniform float radius, scale, ratio; uniform int shape;
in vec3 place; in float mass;
out float shade; out float heavy;
const float PI = 3.14159265358979;
void main() {
  vec3 seen = camera * (place / scale);
  vec2 at = seen.xy; float depth = seen.z;
  if (shape == 1) {
    float lon = atan(seen.x, seen.z), target = PI * seen.y, t = asin(clamp(seen.y, -1.0, 1.0));
    for (int i = 0; i < 8; i++) t -= (2.0 * t + sin(2.0 * t) - target) / max(2.0 + 2.0 * cos(2.0 * t), 1e-3);
    at = vec2(2.0 * sqrt(2.0) / PI * lon * cos(t), sqrt(2.0) * sin(t));
  }
  shade = shape == 2 ? 0.45 + 0.55 * (0.5 + 0.5 * depth) : 1.0;
  heavy = mass;
  bool hidden = shape == 0 && depth < 0.0;
  gl_Position = hidden ? vec4(2.0, 2.0, 2.0, 1.0) : vec4(2.0 * radius * at / size, 0.0, 1.0);
  gl_PointSize = ratio * (mass > 0.0 ? 8.0 + 34.0 * sqrt(mass) : (shape == 2 ? 4.0 + 4.0 * shade : 4.6));
}`;

const DOT_COLOURS = `#version 300 es
precision highp float; precision highp int;
uniform vec3 ink; uniform int shape;
in float shade; in float heavy;
out vec4 colour;
void main() {
  float r = 2.0 * length(gl_PointCoord - 0.5);
  if (shape == 3) { colour = vec4(ink, 1.0) * 0.4; return; }
  if (r > 1.0) discard;
  if (shape == 2) { colour = vec4(ink, 1.0) * (0.75 * shade); return; }
  // White within black is visible on dark and on light colours.
  float edge = heavy > 0.0 ? 0.86 : 0.62;
  colour = vec4(vec3(1.0 - smoothstep(edge - 0.15, edge + 0.05, r)), 1.0) * (heavy > 0.0 ? 0.8 : 0.9);
}`;

// Three axes through 0, and the edge of the unit sphere.
const AXES = new Float32Array([-1, 0, 0, 1, 0, 0, 0, -1, 0, 0, 1, 0, 0, 0, -1, 0, 0, 1]);
const OUTLINE = Float32Array.from({ length: 360 }, (_, i) => {
  const turn = (Math.PI * Math.floor(i / 3)) / 60;
  return [Math.cos(turn), Math.sin(turn), 0][i % 3];
});

/** Scene that draws with WebGL; null without WebGL. */
function sceneOf(canvas, palette) {
  const gl = canvas.getContext("webgl2", { antialias: true, premultipliedAlpha: true, alpha: true });
  if (!gl) return null;
  let programs;
  try {
    programs = { surface: linked(gl, QUAD, SURFACE), dots: linked(gl, DOTS, DOT_COLOURS) };
  } catch {
    return null;
  }
  const textures = [0, 1, 2].map((unit) => {
    gl.activeTexture(gl.TEXTURE0 + unit);
    const texture = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, texture);
    const filter = unit === 2 ? gl.NEAREST : gl.LINEAR;
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, filter);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MAG_FILTER, filter);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, unit === 2 ? gl.CLAMP_TO_EDGE : gl.REPEAT);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
    return texture;
  });
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB, 256, 1, 0, gl.RGB, gl.UNSIGNED_BYTE, palette);
  const held = [null, null];
  const buffers = [gl.createBuffer(), gl.createBuffer()];
  gl.enable(gl.BLEND);
  gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);

  /** Upload the density of a frame, unless it is there. */
  const upload = (unit, frame, [rows, columns]) => {
    if (held[unit] === frame) return;
    held[unit] = frame;
    gl.activeTexture(gl.TEXTURE0 + unit);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.R8, columns, rows, 0, gl.RED, gl.UNSIGNED_BYTE, frame.values);
  };

  const radiusOf = (view) => {
    const { width, height } = canvas;
    return view === "map" ? 0.97 * Math.min(width / (4 * Math.sqrt(2)), height / (2 * Math.sqrt(2)))
      : 0.47 * Math.min(width, height);
  };

  return {
    gl,
    lose() { const lost = gl.getExtension("WEBGL_lose_context"); if (lost) lost.loseContext(); },
    draw(view, ink) {
      const { header, state } = view;
      const { width, height } = canvas;
      const shape = { globe: 0, map: 1, cloud: 2 }[state.shape];
      const radius = radiusOf(state.shape);
      const camera = view.camera();
      gl.viewport(0, 0, width, height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT);
      if (header.values && shape < 2) {
        const [a, b, share] = view.between();
        const size = header.values.shape ? header.values.shape.slice(1) : header.values.size;
        upload(0, a, size);
        upload(1, b, size);
        const at = programs.surface;
        gl.useProgram(at.program);
        gl.uniform2f(at.of("size"), width, height);
        gl.uniformMatrix3fv(at.of("camera"), true, camera);
        gl.uniform1f(at.of("share"), share);
        gl.uniform1f(at.of("radius"), radius);
        gl.uniform1i(at.of("map"), shape);
        gl.uniform1i(at.of("grid"), state.grid);
        ["first", "second", "palette"].forEach((name, unit) => gl.uniform1i(at.of(name), unit));
        gl.drawArrays(gl.TRIANGLES, 0, 3);
      }
      const at = programs.dots;
      const whole = shape < 2 || header.sphere;
      gl.useProgram(at.program);
      gl.uniform2f(at.of("size"), width, height);
      gl.uniform1f(at.of("radius"), radius * (whole ? 1 : 0.62));
      gl.uniform1f(at.of("ratio"), width / Math.max(canvas.clientWidth, 1));
      const hex = parseInt(ink.slice(1), 16);
      gl.uniform3f(at.of("ink"), (hex >> 16) / 255, ((hex >> 8) & 255) / 255, (hex & 255) / 255);
      /** Draw vertices; `masses` are 0 for tokens. */
      const put = (mode, look, points, masses, scale, turned) => {
        gl.uniform1i(at.of("shape"), look);
        gl.uniform1f(at.of("scale"), scale);
        gl.uniformMatrix3fv(at.of("camera"), true, turned);
        const count = points.length / 3;
        [[points, 3, "place"], [masses || new Float32Array(count), 1, "mass"]].forEach(([array, size, name], k) => {
          const index = gl.getAttribLocation(at.program, name);
          gl.bindBuffer(gl.ARRAY_BUFFER, buffers[k]);
          gl.bufferData(gl.ARRAY_BUFFER, array, gl.DYNAMIC_DRAW);
          gl.enableVertexAttribArray(index);
          gl.vertexAttribPointer(index, size, gl.FLOAT, false, 0, 0);
        });
        gl.drawArrays(mode, 0, count);
      };
      if (shape === 2 && state.grid) {
        put(gl.LINES, 3, AXES, null, 1, camera);
        if (header.sphere) put(gl.LINE_LOOP, 3, OUTLINE, null, 1, [1, 0, 0, 0, 1, 0, 0, 0, 1]);
      }
      const { at: points, masses } = view.points();
      if (points.length) put(gl.POINTS, shape, points, masses, whole ? 1 : header.scale, camera);
    },
    pixel(point, m) {
      const row = (k) => m[3 * k] * point[0] + m[3 * k + 1] * point[1] + m[3 * k + 2] * point[2];
      if (row(2) < 0) return null;
      const radius = radiusOf("globe"), bytes = new Uint8Array(4);
      const [x, y] = [canvas.width / 2 + radius * row(0), canvas.height / 2 + radius * row(1)];
      gl.readPixels(Math.floor(x), Math.floor(y), 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, bytes);
      return [...bytes];
    },
  };
}

function linked(gl, vertex, fragment) {
  const program = gl.createProgram();
  for (const [type, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
    const shader = gl.createShader(type);
    gl.shaderSource(shader, text);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS) && !gl.isContextLost()) {
    throw new Error(gl.getProgramInfoLog(program) || "shaders do not link");
  }
  const places = {};
  return { program, of: (name) => (places[name] ??= gl.getUniformLocation(program, name)) };
}
