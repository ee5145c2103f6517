// The 3D scene: path, keyframes, loops, points, surfaces, and the eye that looks at them.
import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { LineMaterial } from 'three/examples/jsm/lines/LineMaterial.js';
import { LineSegments2 } from 'three/examples/jsm/lines/LineSegments2.js';
import { LineSegmentsGeometry } from 'three/examples/jsm/lines/LineSegmentsGeometry.js';
import { Camera, outlineOf, Point, pointAt, rayOf } from './camera';
import { Edge, Frame, Keyframe, Pose, State, Status } from './state';

// Colours go to the screen as they are, without any change of space.
THREE.ColorManagement.enabled = false;

const STATUS_COLORS: Record<number, number> = {
  [Status.Tracked]: 0x3ba7ff, [Status.Weak]: 0xffb000, [Status.Lost]: 0xff5c5c, [Status.Relocalised]: 0x2fd08a, [Status.Skipped]: 0xff5c5c,
};
const PLAIN_CAMERA: Camera = { width: 1, height: 1, fx: 1, fy: 1, cx: 0, cy: 0 };
const MOST_POINTS = 1_000_000;
const NEAR_CLICK = 18; // pixels

// An endoscope's light falls off quickly; what it left dark is lifted.
const BRIGHT = Uint8Array.from({ length: 256 }, (_, value) => Math.round(255 * Math.pow(value / 255, 0.75)));

// From sure to unsure.
const SURE = [0x2c7fb8, 0x7fcdbb, 0xf7e08b, 0xf08a3c, 0xb2182b].map((hex) => new THREE.Color(hex));
export const SURE_GRADIENT = `linear-gradient(90deg, ${SURE.map((color) => `#${color.getHexString()}`).join(', ')})`;
function sureColor(share: number): THREE.Color {
  const at = Math.min(1, Math.max(0, share)) * (SURE.length - 1), k = Math.min(SURE.length - 2, Math.floor(at));
  return SURE[k].clone().lerp(SURE[k + 1], at - k);
}
// Nine tenths are below it: the end of the scale.
export function endOfScale(values: Float32Array): number {
  const known = values.filter((value) => value > 0).sort();
  return known.length ? known[Math.floor(0.9 * (known.length - 1))] : 1;
}

export type Colors = 'picture' | 'sure' | 'seen';
export type Eye = { position: number[]; target: number[]; up: number[] };

export class Scene {
  private renderer: THREE.WebGLRenderer | null = null;
  private scene = new THREE.Scene();
  private eye = new THREE.PerspectiveCamera(45, 1, 0.01, 1000);
  private controls: OrbitControls;
  readonly groups = {
    points: new THREE.Group(), surface: new THREE.Group(), path: new THREE.Group(), keyframes: new THREE.Group(), truth: new THREE.Group(), anatomy: new THREE.Group(),
  };
  private clouds = new Map<number, THREE.Points>();
  private pointMaterial = new THREE.PointsMaterial({ size: 2, sizeAttenuation: false, vertexColors: true });
  private frusta = new THREE.LineSegments(new THREE.BufferGeometry(), new THREE.LineBasicMaterial({ color: 0x8fa3b8, transparent: true, opacity: 0.75 }));
  private loops = fatLines(0xe05cff, 1.5);
  private path = fatLines(0xffffff, 3, true);
  private truth = fatLines(0x9aa0a6, 1.5);
  private marker = fatLines(0xff9d2e, 2);
  private chosen = fatLines(0xffd400, 2);
  private screen: THREE.Mesh; // the present frame's picture, held up before its camera
  private texture: THREE.CanvasTexture;
  private spot = new THREE.Mesh(new THREE.SphereGeometry(1, 20, 14), new THREE.MeshBasicMaterial({ color: 0xffd400, transparent: true, opacity: 0.55, depthTest: false }));
  private wall = new THREE.Group(); // what of it was seen
  private colors: Colors = 'picture';
  private surfaceColors: { picture: THREE.BufferAttribute | null; sure: THREE.BufferAttribute | null } = { picture: null, sure: null };
  private pathLength = 1;
  private dirty = true;
  private touched = false;
  follow = false;
  onMoved: () => void = () => {};

  constructor(private canvas: HTMLCanvasElement, picture: HTMLCanvasElement, private state: State) {
    try {
      this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
      this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio));
      this.renderer.outputColorSpace = THREE.LinearSRGBColorSpace;
    } catch {
      // no WebGL here: the rest of the page goes on without a scene
    }
    this.controls = new OrbitControls(this.eye, canvas);
    this.controls.zoomSpeed = 1.4;
    this.controls.addEventListener('change', () => (this.dirty = true));
    this.controls.addEventListener('start', () => (this.touched = true));
    this.controls.addEventListener('end', () => this.onMoved());
    this.eye.up.set(0, -1, 0);
    this.eye.position.set(0, 0, -3);
    const lamp = new THREE.DirectionalLight(0xffffff, 0.5 * Math.PI);
    this.eye.add(lamp);
    this.scene.add(new THREE.AmbientLight(0xffffff, 0.55 * Math.PI), this.eye);
    lamp.position.set(0.2, 0.3, 1);
    this.texture = new THREE.CanvasTexture(picture);
    this.texture.minFilter = THREE.LinearFilter;
    this.screen = new THREE.Mesh(new THREE.PlaneGeometry(1, 1), new THREE.MeshBasicMaterial({ map: this.texture, side: THREE.DoubleSide, transparent: true, opacity: 0.92 }));
    this.screen.visible = false;
    for (const group of Object.values(this.groups)) this.scene.add(group);
    this.groups.path.add(this.path, this.marker, this.screen);
    this.groups.keyframes.add(this.frusta, this.loops, this.chosen);
    this.scene.add(this.wall, this.spot);
    this.spot.visible = this.wall.visible = false;
    this.spot.renderOrder = 2;
    this.groups.truth.add(this.truth);
    for (const lines of [this.frusta, this.loops, this.path, this.marker, this.chosen, this.truth]) lines.frustumCulled = false;
    this.groups.anatomy.visible = false;
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement!);
    this.resize();
    const tick = () => {
      requestAnimationFrame(tick);
      this.controls.update();
      if (!this.dirty) return;
      this.dirty = false;
      this.renderer?.render(this.scene, this.eye);
    };
    tick();
  }

  get works() { return this.renderer !== null; }
  touch() { this.dirty = true; }

  setBackground(color: string) {
    this.scene.background = new THREE.Color(color);
    this.dirty = true;
  }

  // Forgets what was drawn of a run; where the eye is stays.
  clear() {
    for (const points of this.clouds.values()) points.geometry.dispose();
    this.clouds.clear();
    for (const group of [this.groups.points, this.groups.surface, this.groups.anatomy, this.wall]) group.clear();
    this.surfaceColors = { picture: null, sure: null };
    this.showSpot(null);
    for (const lines of [this.loops, this.path, this.truth, this.marker, this.chosen]) setFat(lines, []);
    setThin(this.frusta, []);
    this.dirty = true;
  }

  private resize() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement!;
    if (!width || !height) return;
    this.renderer?.setSize(width, height, false);
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
    const most = Math.ceil(cloud.width / stride) * Math.ceil(cloud.height / stride);
    const positions = new Float32Array(3 * most), colors = new Uint8Array(3 * most);
    let n = 0;
    for (let y = stride >> 1; y < cloud.height; y += stride) {
      for (let x = stride >> 1; x < cloud.width; x += stride) {
        const at = y * cloud.width + x, d = cloud.depth[at];
        if (!(d > 0)) continue;
        positions.set(pointAt(camera, x, y, d), n);
        for (let c = 0; c < 3; ++c) colors[n + c] = BRIGHT[cloud.rgb[3 * at + c]];
        n += 3;
      }
    }
    const geometry = new THREE.BufferGeometry();
    geometry.setAttribute('position', new THREE.BufferAttribute(positions.subarray(0, n), 3));
    geometry.setAttribute('color', new THREE.BufferAttribute(colors.subarray(0, n), 3, true));
    let points = this.clouds.get(id);
    if (!points) {
      points = new THREE.Points(geometry, this.pointMaterial);
      points.matrixAutoUpdate = false;
      this.clouds.set(id, points);
      this.groups.points.add(points);
    } else {
      points.geometry.dispose();
      points.geometry = geometry;
    }
  }

  pointCount(): number {
    let count = 0;
    for (const points of this.clouds.values()) count += points.geometry.getAttribute('position').count;
    return count;
  }

  private placeClouds() {
    const submap = this.state.mainSubmap(), scale = new THREE.Vector3();
    for (const [id, points] of this.clouds) {
      const keyframe = this.state.keyframes.get(id);
      points.visible = keyframe !== undefined && keyframe.submap === submap;
      if (!keyframe) continue;
      points.matrix.compose(vector(keyframe.pose), quaternion(keyframe.pose), scale.setScalar(Math.exp(keyframe.logScale)));
      points.matrixWorldNeedsUpdate = true;
    }
    this.dirty = true;
  }

  updatePath() {
    const positions: number[] = [], colors: number[] = [], color = new THREE.Color();
    const submap = this.state.mainSubmap();
    let before: Pose | null = null, length = 0, wasLost = false;
    const sigmas = this.colors === 'sure' ? this.state.sigmas.filter((_, i) => i % 2 === 1) : null, end = sigmas?.length ? endOfScale(sigmas) : 0;
    for (const frame of this.state.frames) {
      if (!frame) continue;
      const reference = frame.reference >= 0 ? this.state.keyframes.get(frame.reference) : undefined;
      const pose = !reference || reference.submap === submap ? this.state.locate(frame) : null;
      if (pose && before) {
        positions.push(...before.t, ...pose.t);
        // A gap is drawn as what it was: lost.
        const sigma = end ? this.state.sigmaOf(frame) : -1;
        if (sigma >= 0) color.copy(sureColor(sigma / end));
        else color.set(STATUS_COLORS[wasLost ? Status.Lost : frame.status]);
        colors.push(color.r, color.g, color.b, color.r, color.g, color.b);
        length += Math.hypot(pose.t[0] - before.t[0], pose.t[1] - before.t[1], pose.t[2] - before.t[2]);
      }
      wasLost = !pose;
      before = pose ?? before;
    }
    this.pathLength = length || 1;
    setFat(this.path, positions, colors);
    this.dirty = true;
  }

  private frustumSize() { return Math.min(0.18, Math.max(0.05, 0.018 * this.pathLength)); }

  private frustum(pose: Pose, size: number, out: number[]) {
    const camera = this.state.info?.camera;
    const edge = outlineOf(camera ?? PLAIN_CAMERA);
    const q = quaternion(pose), at = (p: Point) => {
      const v = new THREE.Vector3(...p).multiplyScalar(size).applyQuaternion(q);
      return [v.x + pose.t[0], v.y + pose.t[1], v.z + pose.t[2]];
    };
    edge.forEach((p, i) => {
      out.push(...at(p), ...at(edge[(i + 1) % edge.length]));
      if (i % (edge.length / 4) === 0) out.push(...pose.t, ...at(p));
    });
  }

  updateKeyframes() {
    const lines: number[] = [], submap = this.state.mainSubmap(), size = this.frustumSize();
    for (const keyframe of this.state.keyframes.values()) if (keyframe.submap === submap) this.frustum(keyframe.pose, size, lines);
    setThin(this.frusta, lines);
    const loops: number[] = [];
    for (const [a, b, kind, removed] of this.state.edges) {
      const first = this.state.keyframes.get(a), second = this.state.keyframes.get(b);
      if (kind !== Edge.Temporal && !removed && first?.submap === submap && second?.submap === submap) loops.push(...first.pose.t, ...second.pose.t);
    }
    setFat(this.loops, loops);
    this.placeClouds();
  }

  updateTruth() {
    const lines: number[] = [], { truth } = this.state;
    for (let i = 4; i + 3 < truth.length; i += 4) lines.push(truth[i - 3], truth[i - 2], truth[i - 1], truth[i + 1], truth[i + 2], truth[i + 3]);
    setFat(this.truth, lines);
    this.dirty = true;
  }

  // Tissue is seen from inside; from outside its walls are in the way, and are drawn as a shadow of themselves.
  setThrough(on: boolean) {
    for (const child of this.groups.surface.children) {
      if (child.name === 'inside') ((child as THREE.Mesh).material as THREE.Material).side = on ? THREE.FrontSide : THREE.DoubleSide;
      if (child.name === 'outside') child.visible = on;
    }
    this.dirty = true;
  }

  // What the surface and the path are coloured by.
  setColors(colors: Colors) {
    this.colors = colors;
    this.wall.visible = colors === 'seen' && this.wall.children.length > 0;
    for (const child of this.groups.surface.children) {
      if (child.name !== 'inside') continue;
      const { geometry, material } = child as THREE.Mesh<THREE.BufferGeometry, THREE.MeshLambertMaterial>;
      const chosen = colors === 'sure' && this.surfaceColors.sure ? this.surfaceColors.sure : this.surfaceColors.picture;
      child.visible = !this.wall.visible;
      material.vertexColors = chosen !== null;
      material.color.set(chosen ? 0xffffff : 0xd09a8c);
      material.needsUpdate = true;
      if (chosen) geometry.setAttribute('color', chosen);
    }
    this.updatePath();
  }

  // Standard deviations of the surface's vertices; the end of their scale.
  putSigma(buffer: ArrayBuffer): number {
    const sigma = new Float32Array(buffer), end = endOfScale(sigma), colors = new Uint8Array(3 * sigma.length);
    sigma.forEach((value, i) => {
      const color = sureColor(value / end);
      colors.set([255 * color.r, 255 * color.g, 255 * color.b], 3 * i);
    });
    this.surfaceColors.sure = sigma.length ? new THREE.BufferAttribute(colors, 3, true) : null;
    return end;
  }

  putWall(buffer: ArrayBuffer) {
    const geometry = geometryOf(buffer, false);
    for (const child of this.wall.children) (child as THREE.Mesh).geometry.dispose();
    this.wall.clear();
    this.wall.add(new THREE.Mesh(geometry, new THREE.MeshLambertMaterial({ vertexColors: true })));
    this.setColors(this.colors);
  }

  // Where something was not seen.
  showSpot(place: [number, number, number] | null) {
    this.spot.visible = place !== null;
    if (place) this.spot.position.set(...place);
    this.spot.scale.setScalar(0.8 * this.frustumSize());
    this.dirty = true;
  }

  putMesh(buffer: ArrayBuffer, truth: boolean, through: boolean) {
    const geometry = geometryOf(buffer, true), colored = geometry.hasAttribute('color');
    const faint = (opacity: number, side: THREE.Side) => new THREE.MeshLambertMaterial({ color: 0x8fa3b8, side, transparent: true, opacity, depthWrite: false });
    if (truth) {
      this.groups.anatomy.add(new THREE.Mesh(geometry, faint(0.22, THREE.DoubleSide)));
    } else {
      const inside = new THREE.Mesh(geometry, new THREE.MeshLambertMaterial({ vertexColors: colored, color: colored ? 0xffffff : 0xd09a8c }));
      const outside = new THREE.Mesh(geometry, faint(0.1, THREE.BackSide));
      this.surfaceColors.picture = colored ? (geometry.getAttribute('color') as THREE.BufferAttribute) : null;
      inside.name = 'inside';
      outside.name = 'outside';
      this.groups.surface.add(inside, outside);
      this.setThrough(through);
      this.setColors(this.colors);
    }
    this.dirty = true;
  }

  // The present frame's camera; the eye goes with it where it follows.
  showFrame(frame: Frame | undefined) {
    const pose = frame ? this.state.locate(frame) : null, lines: number[] = [], size = 2.2 * this.frustumSize(), camera = this.state.info?.camera;
    if (pose) this.frustum(pose, size, lines);
    setFat(this.marker, lines);
    this.screen.visible = pose !== null && camera !== undefined && !this.follow;
    if (pose && camera) {
      this.bendScreen(camera);
      this.screen.position.copy(vector(pose));
      this.screen.quaternion.copy(quaternion(pose));
      this.screen.scale.setScalar(size);
    }
    if (pose && this.follow) this.lookAlong(pose);
    this.dirty = true;
  }
  // The sheet the picture hangs on: every place of it lies where its pixel looks.
  private bentFor: Camera | null = null;
  private bendScreen(camera: Camera) {
    if (this.bentFor === camera) return;
    this.bentFor = camera;
    const columns = camera.alpha ? 24 : 1, rows = camera.alpha ? 18 : 1;
    const sheet = new THREE.PlaneGeometry(1, 1, columns, rows), place = sheet.attributes.position;
    for (let j = 0, n = 0; j <= rows; ++j)
      for (let i = 0; i <= columns; ++i, ++n) place.setXYZ(n, ...rayOf(camera, (i * camera.width) / columns - 0.5, (j * camera.height) / rows - 0.5));
    this.screen.geometry.dispose();
    this.screen.geometry = sheet;
  }

  pictureChanged() {
    // The canvas may have another size now, which a texture does not take by itself.
    this.texture.dispose();
    this.texture.needsUpdate = true;
    this.dirty = true;
  }

  private lookAlong(pose: Pose) {
    const q = quaternion(pose), p = vector(pose), size = this.frustumSize();
    const forward = new THREE.Vector3(0, 0, 1).applyQuaternion(q), down = new THREE.Vector3(0, 1, 0).applyQuaternion(q);
    this.eye.up.copy(down).negate();
    this.eye.position.copy(p).addScaledVector(forward, -5 * size).addScaledVector(down, -1.5 * size);
    this.controls.target.copy(p).addScaledVector(forward, 8 * size);
  }

  showChosen(keyframe: Keyframe | null) {
    const lines: number[] = [];
    if (keyframe) {
      this.frustum(keyframe.pose, 1.5 * this.frustumSize(), lines);
      for (const { to } of this.state.connectionsOf(keyframe.id)) lines.push(...keyframe.pose.t, ...to.pose.t);
    }
    setFat(this.chosen, lines);
    this.dirty = true;
  }

  // The keyframe under the pointer, if one is near.
  pick(clientX: number, clientY: number): Keyframe | null {
    const submap = this.state.mainSubmap();
    let best: Keyframe | null = null, nearest = NEAR_CLICK;
    for (const keyframe of this.state.keyframes.values()) {
      if (keyframe.submap !== submap || vector(keyframe.pose).project(this.eye).z > 1) continue;
      const [x, y] = this.place(keyframe), distance = Math.hypot(x - clientX, y - clientY);
      if (distance < nearest) [best, nearest] = [keyframe, distance];
    }
    return best;
  }
  // Where a keyframe is on the screen: the middle of its frustum.
  place(keyframe: Keyframe): [number, number] {
    const box = this.canvas.getBoundingClientRect();
    const at = new THREE.Vector3(0, 0, 0.6 * this.frustumSize()).applyQuaternion(quaternion(keyframe.pose)).add(vector(keyframe.pose)).project(this.eye);
    return [((at.x + 1) / 2) * box.width + box.left, ((1 - at.y) / 2) * box.height + box.top];
  }

  // Points that stand for all there is: the path, and the surface or what keyframes look at.
  private extent(): THREE.Vector3[] {
    const points: THREE.Vector3[] = [];
    for (const frame of this.state.frames) {
      const pose = frame && this.state.locate(frame);
      if (pose) points.push(vector(pose));
    }
    for (const keyframe of this.state.keyframes.values()) points.push(vector(keyframe.pose));
    const inside = this.groups.surface.children[0] as THREE.Mesh | undefined;
    if (inside) {
      const places = inside.geometry.getAttribute('position'), step = Math.max(1, Math.floor(places.count / 2000));
      for (let i = 0; i < places.count; i += step) points.push(new THREE.Vector3().fromBufferAttribute(places, i));
    } else {
      for (const keyframe of this.state.keyframes.values()) {
        for (const [x, y] of [[0, 0], [-0.6, -0.6], [0.6, 0.6], [-0.6, 0.6], [0.6, -0.6]])
          points.push(new THREE.Vector3(x, y, 1).multiplyScalar(Math.exp(keyframe.logScale)).applyQuaternion(quaternion(keyframe.pose)).add(vector(keyframe.pose)));
      }
    }
    return points;
  }

  // Looks at all there is, from aside of the first camera; `gently` leaves an eye alone that somebody moved.
  fit(gently = false) {
    if (gently && (this.touched || this.follow)) return;
    const points = this.extent(), box = new THREE.Box3().setFromPoints(points);
    if (box.isEmpty()) return;
    const first = this.state.frames.find((frame) => frame && this.state.locate(frame)), pose = first && this.state.locate(first);
    const q = pose ? quaternion(pose) : new THREE.Quaternion();
    const aside = new THREE.Vector3(0.8, -0.5, -0.45).normalize().applyQuaternion(q), up = new THREE.Vector3(0, -1, 0).applyQuaternion(q);
    const right = up.clone().cross(aside).normalize(), top = aside.clone().cross(right).normalize();
    const center = box.getCenter(new THREE.Vector3()), tall = Math.tan((this.eye.fov * Math.PI) / 360) * 0.82, wide = tall * this.eye.aspect;
    let distance = 1e-3;
    for (const point of points) {
      const p = point.sub(center), toEye = p.dot(aside);
      distance = Math.max(distance, toEye + Math.abs(p.dot(right)) / wide, toEye + Math.abs(p.dot(top)) / tall);
    }
    this.eye.up.copy(up);
    this.controls.target.copy(center);
    this.eye.position.copy(center).addScaledVector(aside, distance);
    this.eye.near = 0.002 * distance;
    this.eye.far = 40 * distance;
    this.eye.updateProjectionMatrix();
    this.controls.update();
    this.dirty = true;
  }

  getEye(): Eye | null {
    return this.touched ? { position: this.eye.position.toArray(), target: this.controls.target.toArray(), up: this.eye.up.toArray() } : null;
  }
  setEye(eye: Eye) {
    this.fit(); // for its near and far
    this.touched = true;
    this.eye.up.fromArray(eye.up);
    this.eye.position.fromArray(eye.position);
    this.controls.target.fromArray(eye.target);
    this.controls.update();
    this.dirty = true;
  }
  letGo() { this.touched = false; }

  picture(): string {
    this.renderer?.render(this.scene, this.eye);
    return this.canvas.toDataURL('image/png');
  }
}

// See EncodeMesh in src/lumen/viewer/scene_view.h.
export function geometryOf(buffer: ArrayBuffer, lifted: boolean): THREE.BufferGeometry {
  const view = new DataView(buffer), vertices = view.getUint32(4, true), triangles = view.getUint32(8, true), colored = view.getUint32(12, true) === 1;
  const geometry = new THREE.BufferGeometry();
  geometry.setAttribute('position', new THREE.BufferAttribute(new Float32Array(buffer, 16, 3 * vertices), 3));
  let at = 16 + 12 * vertices;
  if (colored) {
    const colors = new Uint8Array(buffer, at, 3 * vertices);
    geometry.setAttribute('color', new THREE.BufferAttribute(lifted ? colors.map((c) => BRIGHT[c]) : colors, 3, true));
    at = (at + 3 * vertices + 3) & ~3;
  }
  geometry.setIndex(new THREE.BufferAttribute(new Uint32Array(buffer, at, 3 * triangles), 1));
  geometry.computeVertexNormals();
  return geometry;
}

function vector(pose: Pose) { return new THREE.Vector3(...pose.t); }
function quaternion(pose: Pose) { return new THREE.Quaternion(...pose.q); }

function fatLines(color: number, width: number, vertexColors = false): LineSegments2 {
  const lines = new LineSegments2(new LineSegmentsGeometry(), new LineMaterial({ color, linewidth: width, vertexColors }));
  lines.visible = false; // nothing in it yet
  return lines;
}

function setFat(lines: LineSegments2, positions: number[], colors?: number[]) {
  lines.geometry.dispose();
  lines.geometry = new LineSegmentsGeometry();
  lines.visible = positions.length > 0;
  if (!lines.visible) return;
  lines.geometry.setPositions(positions);
  if (colors) lines.geometry.setColors(colors);
}

function setThin(lines: THREE.LineSegments, positions: number[]) {
  lines.geometry.dispose();
  lines.geometry = new THREE.BufferGeometry().setAttribute('position', new THREE.Float32BufferAttribute(positions, 3));
}
