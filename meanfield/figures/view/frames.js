// Frames of a run, from the bytes of `view.pack`.

/** Bytes after decompression by gzip. */
export async function unpacked(bytes) {
  if (typeof DecompressionStream === "undefined") {
    throw new Error("it needs a browser of 2023 or later (DecompressionStream).");
  }
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Frames {time, values, shares, points, masses} of a header and its bytes. */
export function framesOf(header, data) {
  const buffer = data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
  const undo = (now, before) => {
    if (before && before.length === now.length) now.forEach((d, i) => { now[i] = d + before[i]; });
    return now;
  };
  const table = (part) => {
    if (!part || !part.shape) return [];
    const size = part.shape.slice(1).reduce((a, b) => a * b, 1);
    const rows = [];
    for (let f = 0; f < part.shape[0]; f++) {
      rows.push(undo(new Uint8Array(buffer, part.offset + f * size, size), rows[f - 1]));
    }
    return rows;
  };
  const ragged = (part, width, type) => {
    let at = part.offset;
    return part.counts.map((count) => {
      const length = count * width;
      const bytes = new type(buffer.slice(at, at + length * type.BYTES_PER_ELEMENT));
      at += length * type.BYTES_PER_ELEMENT;
      return bytes;
    });
  };
  const width = { globe: 2, ring: 1, strip: 1, cloud: 3 }[header.shape];
  const coded = ragged(header.points, width, Int16Array);
  coded.forEach((now, f) => undo(now, coded[f - 1]));
  const masses = header.masses ? ragged(header.masses, 1, Float32Array) : [];
  const values = table(header.values);
  const shares = table(header.shares);
  shares.forEach((_, f) => { if (!header.shares.known[f]) shares[f] = null; });
  return header.times.map((time, f) => ({
    time, values: values[f], shares: shares[f] || null, points: pointsOf(coded[f], header),
    masses: masses[f] && masses[f].length ? masses[f] : null,
  }));
}

/** Unit vectors, angles, or coordinates, from integers of 16 bits. */
export function pointsOf(coded, header) {
  if (header.shape !== "globe") {
    const unit = (header.shape === "cloud" ? header.scale : Math.PI) / 32767;
    return Float32Array.from(coded, (each) => each * unit);
  }
  const points = new Float32Array((coded.length / 2) * 3);
  for (let i = 0; 2 * i < coded.length; i++) {
    let x = coded[2 * i] / 32767, y = coded[2 * i + 1] / 32767;
    const z = 1 - Math.abs(x) - Math.abs(y);
    if (z < 0) {
      [x, y] = [(1 - Math.abs(y)) * (x < 0 ? -1 : 1), (1 - Math.abs(x)) * (y < 0 ? -1 : 1)];
    }
    const length = Math.hypot(x, y, z);
    points.set([x / length, y / length, z / length], 3 * i);
  }
  return points;
}
