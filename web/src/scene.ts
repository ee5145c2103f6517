// The 3D scene: path, keyframes, loops, points, surfaces, and the eye that looks at them.
import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { Camera, Frame, Keyframe, Pose, State, Status } from './state';

const STATUS_COLORS: Record<number, number> = {
  [Status.Tracked]: 0x3ba7ff, [Status.Weak]: 0xffb000, [Status.Lost]: 0xff5c5c, [Status.Relocalised]: 0x2fd08a, [Status.Skipped]: 0xff5c5c,
};
const MOST_POINTS = 1_000_000;

function brighten(value: number): number {
  // An endoscope's light falls off quickly; what it left dark is lifted.
  return Math.pow(value / 255, 0.75);
}

export class Scene {
  readonly renderer: THREE.WebGLRenderer;
  private scene = new THREE.Scene();
  private eye = new THREE.PerspectiveCamera(50, 1, 0.01, 1000);
  private controls: OrbitControls;
  readonly groups = { points: new THREE.Group(), surface: new THREE.Group(), path: new THREE.Group(), keyframes: new THREE.Group(), truth: new THREE.Group() };
  private clouds = new Map<number, THREE.Points>();
  private frusta = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: 0x8fa3b8, transparent: true, opacity: 0.8 }));
  private loops = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: 0xe05cff }));
  private path = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ vertexColors: true }));
  private marker = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: 0xff9d2e }));
  private chosen = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: 0xffd400 }));
  private pathLength = 1;
  private dirty = true;
  private touched = false;
  follow = false;

  constructor(private canvas: HTMLCanvasElement, private state: State) {
    this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
    this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio));
    this.controls = new OrbitControls(this.eye, canvas);
    this.controls.addEventListener('change', () => (this.dirty = true));
    this.controls.addEventListener('start', () => (this.touched = true));
    this.eye.up.set(0, -1, 0);
    this.eye.position.set(0, 0, -3);
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0xb0b0b0, 2.2), this.eye);
    const lamp = new THREE.DirectionalLight(0xffffff, 1.2);
    this.eye.add(lamp);
    lamp.position.set(0, 0, 1);
    for (const group of Object.values(this.groups)) this.scene.add(group);
    this.groups.path.add(this.path, this.marker);
    this.groups.keyframes.add(this.frusta, this.loops, this.chosen);
    for (const line of [this.frusta, this.loops, this.path, this.marker, this.chosen]) line.frustumCulled = false;
    this.groups.truth.visible = false;
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement!);
    this.resize();
    const tick = () => {
      requestAnimationFrame(tick);
      this.controls.update();
      if (!this.dirty) return;
      this.dirty = false;
      this.renderer.render(this.scene, this.eye);
    };
    tick();
  }

  touch() { this.dirty = true; }

  setBackground(color: string) {
    this.scene.background = new THREE.Color(color);
    this.dirty = true;
  }

  clear() {
    for (const points of this.clouds.values()) points.geometry.dispose();
    this.clouds.clear();
    this.groups.points.clear();
    this.groups.surface.clear();
    this.touched = false;
  }

  private resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement!;
    if (!width || !height) return;
    this.renderer.setSize(width, height, false);
    this.eye.aspect = width / height;
    this.eye.updateProjectionMatrix();
    this.dirty = true;
  }

  // Every how many pixels a point is drawn, so that all of them together stay drawable.
  private stride(): number {
    const camera = this.state.info?.camera;
    if (!camera) return 1;
    return Math.max(1, Math.ceil(Math.sqrt((camera.width * camera.height * Math.max(1, this.state.keyframes.size)) / MOST_POINTS)));
  }
  private drawnStride = 1;

  updateClouds(ids: Iterable<number>) {
    const camera = this.state.info?.camera;
    if (!camera) return;
    const stride = this.stride();
    if (stride !== this.drawnStride) ids = this.state.clouds.keys();
    this.drawnStride = stride;
    for (const id of ids) this.putCloud(id, camera, stride);
    this.placeClouds();
  }

  private putCloud(id: number, camera: Camera, stride: number) {
    const cloud = this.state.clouds.get(id);
    if (!cloud) return;
    const positions: number[] = [], colors: number[] = [];
    for (let y = stride >> 1; y < cloud.height; y += stride) {
      for (let x = stride >> 1; x < cloud.width; x += stride) {
        const at = y * cloud.width + x, d = cloud.depth[at];
        if (!(d > 0)) continue;
        positions.push((d * (x - camera.cx)) / camera.fx, (d * (y - camera.cy)) / camera.fy, d);
        colors.push(brighten(cloud.rgb[3 * at]), brighten(cloud.rgb[3 * at + 1]), brighten(cloud.rgb[3 * at + 2]));
      }
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.Float32BufferAttribute(positions, 3));
    geometry.setAttribute('color', new THREE.Uint8BufferAttribute(colors.map((c) => Math.round(255 * c)), 3, true));
    let points = this.clouds.get(id);
    if (!points) {
      points = new THREE.Points(geometry, new THREE.PointsMaterial({ size: 2, sizeAttenuation: false, vertexColors: true }));
      points.matrixAutoUpdate = false;
      this.clouds.set(id, points);
      this.groups.points.add(points);
    } else {
      points.geometry.dispose();
      points.geometry = geometry;
    }
  }

  placeClouds() {
    for (const [id, points] of this.clouds) {
      const keyframe = this.state.keyframes.get(id);
      points.visible = keyframe !== undefined && keyframe.submap === this.mainSubmap();
      if (!keyframe) continue;
      const s = Math.exp(keyframe.logScale);
      points.matrix.compose(new THREE.Vector3(...keyframe.pose.t), new THREE.Quaternion(...keyframe.pose.q), new THREE.Vector3(s, s, s));
      points.matrixWorldNeedsUpdate = true;
    }
    this.dirty = true;
  }

  // The sub-map with the most keyframes: the others have nothing to do with it yet.
  mainSubmap(): number {
    const sizes = new Map<number, number>();
    for (const keyframe of this.state.keyframes.values()) sizes.set(keyframe.submap, (sizes.get(keyframe.submap) ?? 0) + 1);
    let best = 0, most = -1;
    for (const [submap, size] of sizes) if (size > most) [best, most] = [submap, size];
    return best;
  }

  updatePath() {
    const positions: number[] = [], colors: number[] = [], color = new THREE.Color();
    const submap = this.mainSubmap();
    let before: Pose | null = null, length = 0, beforeStatus = Status.Tracked;
    for (const frame of this.state.frames) {
      const reference = frame && frame.reference >= 0 ? this.state.keyframes.get(frame.reference) : undefined;
      const pose = frame && (!reference || reference.submap === submap) ? this.state.locate(frame) : null;
      if (pose && before) {
        positions.push(...before.t, ...pose.t);
        // A gap is drawn as what it was: lost.
        color.set(STATUS_COLORS[beforeStatus === Status.Lost ? Status.Lost : frame.status]);
        colors.push(color.r, color.g, color.b, color.r, color.g, color.b);
        length += Math.hypot(pose.t[0] - before.t[0], pose.t[1] - before.t[1], pose.t[2] - before.t[2]);
      }
      if (pose) [before, beforeStatus] = [pose, frame.status];
      else if (frame) beforeStatus = Status.Lost;
    }
    this.pathLength = length || 1;
    setLines(this.path, positions, colors);
    this.dirty = true;
  }

  private frustumSize() { return Math.min(0.12, Math.max(0.015, 0.012 * this.pathLength)) * 1.5; }

  private frustum(pose: Pose, size: number, out: number[]) {
    const camera = this.state.info?.camera;
    const w = camera ? (size * camera.width) / camera.fx / 2 : size / 2, h = camera ? (size * camera.height) / camera.fy / 2 : size / 2;
    const q = new THREE.Quaternion(...pose.q), at = (x: number, y: number, z: number) => {
      const v = new THREE.Vector3(x, y, z).applyQuaternion(q);
      return [v.x + pose.t[0], v.y + pose.t[1], v.z + pose.t[2]];
    };
    const o = at(0, 0, 0), a = at(-w, -h, size), b = at(w, -h, size), c = at(w, h, size), d = at(-w, h, size);
    for (const [p, r] of [[o, a], [o, b], [o, c], [o, d], [a, b], [b, c], [c, d], [d, a]]) out.push(...p, ...r);
  }

  updateKeyframes() {
    const lines: number[] = [], submap = this.mainSubmap(), size = this.frustumSize();
    for (const keyframe of this.state.keyframes.values()) if (keyframe.submap === submap) this.frustum(keyframe.pose, size, lines);
    setLines(this.frusta, lines);
    const loops: number[] = [];
    for (const [a, b, , removed] of this.state.edges) {
      const first = this.state.keyframes.get(a), second = this.state.keyframes.get(b);
      if (first && second && !removed) loops.push(...first.pose.t, ...second.pose.t);
    }
    setLines(this.loops, loops);
    this.placeClouds();
  }

  updateTruth() {
    const old = this.groups.truth.children.find((child) => child instanceof THREE.Line);
    if (old) this.groups.truth.remove(old);
    const points: THREE.Vector3[] = [];
    for (let i = 0; i + 3 < this.state.truth.length; i += 4) points.push(new THREE.Vector3(this.state.truth[i + 1], this.state.truth[i + 2], this.state.truth[i + 3]));
    const line = new THREE.Line(new THREE.BufferGeometry().setFromPoints(points), new THREE.LineBasicMaterial({ color: 0x888888 }));
    line.frustumCulled = false;
    this.groups.truth.add(line);
    this.dirty = true;
  }

  putMesh(buffer: ArrayBuffer, truth: boolean) {
    const view = new DataView(buffer), vertices = view.getUint32(4, true), triangles = view.getUint32(8, true), colored = view.getUint32(12, true) === 1;
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(buffer, 16, 3 * vertices), 3));
    let at = 16 + 12 * vertices;
    if (colored) {
      const colors = new Uint8Array(buffer, at, 3 * vertices);
      geometry.setAttribute('color', new THREE.BufferAttribute(colors.map((c) => Math.round(255 * brighten(c))), 3, true));
      at = (at + 3 * vertices + 3) & ~3;
    }
    geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(buffer, at, 3 * triangles), 1));
    geometry.computeVertexNormals();
    const material = truth
      ? new THREE.MeshLambertMaterial({ color: 0x9fb4c8, side: THREE.DoubleSide, transparent: true, opacity: 0.18, depthWrite: false })
      : new THREE.MeshLambertMaterial({ vertexColors: colored, color: colored ? 0xffffff : 0xd09a8c, side: THREE.DoubleSide });
    (truth ? this.groups.truth : this.groups.surface).add(new THREE.Mesh(geometry, material));
    this.dirty = true;
  }

  // The present frame's camera; the eye goes with it where it follows.
  showFrame(frame: Frame | undefined) {
    const pose = frame ? this.state.locate(frame) : null, lines: number[] = [];
    if (pose) this.frustum(pose, 1.8 * this.frustumSize(), lines);
    setLines(this.marker, lines);
    if (pose && this.follow) {
      const q = new THREE.Quaternion(...pose.q), p = new THREE.Vector3(...pose.t), size = this.frustumSize();
      const forward = new THREE.Vector3(0, 0, 1).applyQuaternion(q), down = new THREE.Vector3(0, 1, 0).applyQuaternion(q);
      this.eye.up.copy(down).negate();
      this.eye.position.copy(p).addScaledVector(forward, -3 * size).addScaledVector(down, -0.8 * size);
      this.controls.target.copy(p).addScaledVector(forward, 6 * size);
    }
    this.dirty = true;
  }

  showChosen(keyframe: Keyframe | null) {
    const lines: number[] = [];
    if (keyframe) {
      this.frustum(keyframe.pose, 1.4 * this.frustumSize(), lines);
      for (const [a, b] of this.state.edges) {
        const other = a === keyframe.id ? this.state.keyframes.get(b) : b === keyframe.id ? this.state.keyframes.get(a) : undefined;
        if (other) lines.push(...keyframe.pose.t, ...other.pose.t);
      }
    }
    setLines(this.chosen, lines);
    this.dirty = true;
  }

  // The keyframe whose camera is nearest to a place on the screen, within a few pixels.
  pick(clientX: number, clientY: number): Keyframe | null {
    const box = this.canvas.getBoundingClientRect(), at = new THREE.Vector3();
    let best: Keyframe | null = null, nearest = 18;
    for (const keyframe of this.state.keyframes.values()) {
      at.set(...keyframe.pose.t).project(this.eye);
      if (at.z > 1 || keyframe.submap !== this.mainSubmap()) continue;
      const distance = Math.hypot(((at.x + 1) / 2) * box.width + box.left - clientX, ((1 - at.y) / 2) * box.height + box.top - clientY);
      if (distance < nearest) [best, nearest] = [keyframe, distance];
    }
    return best;
  }
  // Where a keyframe is on the screen.
  place(keyframe: Keyframe): [number, number] {
    const box = this.canvas.getBoundingClientRect(), at = new THREE.Vector3(...keyframe.pose.t).project(this.eye);
    return [((at.x + 1) / 2) * box.width + box.left, ((1 - at.y) / 2) * box.height + box.top];
  }

  // Looks at all there is, from aside of the path; `gently` leaves an eye alone that somebody moved.
  fit(gently = false) {
    if (gently && (this.touched || this.follow)) return;
    const path: THREE.Vector3[] = [];
    for (const frame of this.state.frames) {
      const pose = frame && this.state.locate(frame);
      if (pose) path.push(new THREE.Vector3(...pose.t));
    }
    const box = new THREE.Box3().setFromPoints(path);
    if (box.isEmpty()) return;
    this.groups.surface.children.forEach((child) => box.expandByObject(child));
    if (!this.groups.surface.children.length)
      for (const keyframe of this.state.keyframes.values()) {
        const ahead = new THREE.Vector3(0, 0, Math.exp(keyframe.logScale)).applyQuaternion(new THREE.Quaternion(...keyframe.pose.q));
        box.expandByPoint(ahead.add(new THREE.Vector3(...keyframe.pose.t)));
      }
    const sphere = box.getBoundingSphere(new THREE.Sphere()), first = this.state.frames.find((frame) => frame?.pose);
    const pose = first && this.state.locate(first);
    const q = pose ? new THREE.Quaternion(...pose.q) : new THREE.Quaternion();
    const aside = new THREE.Vector3(0.85, -0.45, -0.5).normalize().applyQuaternion(q);
    this.eye.up.copy(new THREE.Vector3(0, -1, 0).applyQuaternion(q));
    this.controls.target.copy(sphere.center);
    this.eye.position.copy(sphere.center).addScaledVector(aside, 2.0 * sphere.radius);
    this.eye.near = 0.002 * sphere.radius;
    this.eye.far = 40 * sphere.radius;
    this.eye.updateProjectionMatrix();
    this.controls.update();
    this.dirty = true;
  }

  picture(): string {
    this.renderer.render(this.scene, this.eye);
    return this.canvas.toDataURL('image/png');
  }
}

function setLines(lines: THREE.LineSegments, positions: number[], colors?: number[]) {
  lines.geometry.dispose();
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.Float32BufferAttribute(positions, 3));
  if (colors) geometry.setAttribute('color', new THREE.Float32BufferAttribute(colors, 3));
  lines.geometry = geometry;
}
