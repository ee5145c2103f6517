// The camera of the depth maps: a pinhole, or one that bends towards a fisheye (alpha). Depth is in its own
// measure, (1 - alpha) z + alpha |p|: z for a pinhole.
export type Camera = { width: number; height: number; fx: number; fy: number; cx: number; cy: number; alpha?: number };
export type Point = [number, number, number];

// The point of depth 1 that a pixel sees.
export function rayOf(camera: Camera, u: number, v: number): Point {
  const x = (u - camera.cx) / camera.fx, y = (v - camera.cy) / camera.fy, a = camera.alpha ?? 0, r2 = x * x + y * y;
  return [x, y, (1 - a * a * r2) / (1 - a + a * Math.sqrt(Math.max(0, 1 + (1 - 2 * a) * r2)))];
}

export function pointAt(camera: Camera, u: number, v: number, depth: number): Point {
  const ray = rayOf(camera, u, v);
  return [depth * ray[0], depth * ray[1], depth * ray[2]];
}

// Depth and pixel of a point; nothing where it lies behind.
export function projectOf(camera: Camera, p: readonly number[]): { depth: number; u: number; v: number } | null {
  const a = camera.alpha ?? 0, far = Math.hypot(p[0], p[1], p[2]), reach = a <= 0.5 ? a / (1 - a) : (1 - a) / a;
  if (!(p[2] + reach * far > 0)) return null;
  const depth = (1 - a) * p[2] + a * far;
  return { depth, u: (camera.fx * p[0]) / depth + camera.cx, v: (camera.fy * p[1]) / depth + camera.cy };
}

// The picture's edge as points of depth 1, all around; bent pictures have bent edges.
export function outlineOf(camera: Camera): Point[] {
  const steps = camera.alpha ? 8 : 1, left = -0.5, top = -0.5, right = camera.width - 0.5, bottom = camera.height - 0.5, points: Point[] = [];
  const along = (u0: number, v0: number, u1: number, v1: number) => {
    for (let i = 0; i < steps; ++i) points.push(rayOf(camera, u0 + ((u1 - u0) * i) / steps, v0 + ((v1 - v0) * i) / steps));
  };
  along(left, top, right, top);
  along(right, top, right, bottom);
  along(right, bottom, left, bottom);
  along(left, bottom, left, top);
  return points;
}
