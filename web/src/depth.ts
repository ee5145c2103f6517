// Depth as colours, and a keyframe's depth as another camera sees it.
import { Camera, pointAt, projectOf } from './camera';
import { Cloud, Pose, rotate } from './state';

// Dark blue → green → yellow, as everywhere in Lumen.
const STOPS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
export function colorAt(t: number): [number, number, number] {
  const x = Math.min(0.9999, Math.max(0, t)) * 4, k = Math.floor(x), a = x - k;
  return [0, 1, 2].map((c) => STOPS[k][c] * (1 - a) + STOPS[k + 1][c] * a) as [number, number, number];
}

export function drawDepth(canvas: HTMLCanvasElement, depth: Float32Array, width: number, height: number) {
  canvas.width = width;
  canvas.height = height;
  const known = Array.from(depth.filter((d) => d > 0)).sort((a, b) => a - b);
  const far = known.length ? known[Math.floor(0.98 * (known.length - 1))] : 1;
  const context = canvas.getContext('2d')!, image = context.createImageData(width, height);
  for (let i = 0; i < depth.length; ++i) {
    const [r, g, b] = depth[i] > 0 ? colorAt(depth[i] / far) : [0, 0, 0];
    image.data.set([r, g, b, 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
  return far;
}

export function drawRgb(canvas: HTMLCanvasElement, rgb: Uint8Array, width: number, height: number) {
  canvas.width = width;
  canvas.height = height;
  const context = canvas.getContext('2d')!, image = context.createImageData(width, height);
  for (let i = 0, n = width * height; i < n; ++i) image.data.set([rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2], 255], 4 * i);
  context.putImageData(image, 0, 0);
}

// The cloud's points splatted into the camera at `to`; small holes are closed by their neighbours.
export function warpDepth(cloud: Cloud, scale: number, from: Pose, to: Pose, camera: Camera): Float32Array {
  const { width, height } = cloud, out = new Float32Array(width * height);
  const back: Pose['q'] = [-to.q[0], -to.q[1], -to.q[2], to.q[3]];
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      const d = scale * cloud.depth[y * width + x];
      if (!(d > 0)) continue;
      const world = rotate(from.q, pointAt(camera, x, y, d));
      const p = rotate(back, [world[0] + from.t[0] - to.t[0], world[1] + from.t[1] - to.t[1], world[2] + from.t[2] - to.t[2]]);
      const seen = projectOf(camera, p);
      if (!seen) continue;
      const u = Math.round(seen.u), v = Math.round(seen.v);
      if (u < 0 || v < 0 || u >= width || v >= height) continue;
      const at = v * width + u;
      if (!(out[at] > 0) || seen.depth < out[at]) out[at] = seen.depth;
    }
  }
  const closed = out.slice();
  for (let y = 1; y + 1 < height; ++y) {
    for (let x = 1; x + 1 < width; ++x) {
      const at = y * width + x;
      if (out[at] > 0) continue;
      const near = [out[at - 1], out[at + 1], out[at - width], out[at + width]].filter((d) => d > 0);
      if (near.length >= 2) closed[at] = near.reduce((a, b) => a + b) / near.length;
    }
  }
  return closed;
}
