// The CT in three dimensions: its wall as glass, the scope and its way in it, the surface that was laid into it,
// marked places; and the virtual endoscope, which looks at the same wall from where the scope is.
import * as THREE from 'three';
import { OrbitControls } from 'three/examples/jsm/controls/OrbitControls.js';
import { LineMaterial } from 'three/examples/jsm/lines/LineMaterial.js';
import { LineSegments2 } from 'three/examples/jsm/lines/LineSegments2.js';
import { LineSegmentsGeometry } from 'three/examples/jsm/lines/LineSegmentsGeometry.js';
import { Camera, outlineOf, Point } from './camera';
import { Place, Target } from './ct';
import { geometryOf } from './scene';
import { Pose } from './state';

const VIRTUAL_WIDTH = 320, METER_WIDTH = 48;
const MOST_LABELS = 40;

// Clear where it is looked through, dense at its edges: one sees both the shape and what is in it.
const GLASS = {
  vertex: `varying vec3 normalToEye; varying vec3 toEye;
void main() { vec4 p = modelViewMatrix * vec4(position, 1.0); normalToEye = normalMatrix * normal; toEye = -p.xyz; gl_Position = projectionMatrix * p; }`,
  fragment: `uniform vec3 color; uniform float most; varying vec3 normalToEye; varying vec3 toEye;
void main() { float facing = abs(dot(normalize(normalToEye), normalize(toEye))); gl_FragColor = vec4(color, 0.03 + most * pow(1.0 - facing, 2.5)); }`,
};

// The run's lens (camera.ts): a point's depth is (1 - alpha) z + alpha |p|, and its pixel f p / depth + c.
const ENDOSCOPE = {
  vertex: `uniform mat4 cameraFromCt; uniform vec4 lens; uniform float alpha; varying vec3 p; varying vec3 n;
void main() {
  p = (cameraFromCt * vec4(position, 1.0)).xyz;
  n = mat3(cameraFromCt) * normal;
  float depth = (1.0 - alpha) * p.z + alpha * length(p);
  float far = 500.0, near = 0.2;
  gl_Position = vec4(lens.x * p.x + lens.z * depth, lens.y * p.y + lens.w * depth, (2.0 * (length(p) - near) / (far - near) - 1.0) * depth, depth);
}`,
  fragment: `uniform float exposure; uniform float reach; uniform bool metering; varying vec3 p; varying vec3 n;
void main() {
  float far = length(p);
  if (p.z + reach * far < 0.05 * far) discard;
  vec3 ray = p / far;
  float facing = abs(dot(normalize(n), ray)), cone = max(0.15, ray.z);
  float light = cone * (0.12 + 0.88 * facing) / max(1.0, far * far);
  if (metering) { gl_FragColor = vec4(vec3((log2(light) + 20.0) / 22.0), 1.0); return; }
  gl_FragColor = vec4(pow(1.0 - exp(-exposure * light * (vec3(1.0, 0.29, 0.23) + 0.5 * pow(facing, 90.0))), vec3(1.0 / 2.2)), 1.0);
}`,
};

export class CtScene {
  private renderer: THREE.WebGLRenderer | null = null;
  private scene = new THREE.Scene();
  private eye = new THREE.PerspectiveCamera(35, 1, 0.5, 4000);
  private controls: OrbitControls;
  private wall: THREE.Mesh<THREE.BufferGeometry, THREE.ShaderMaterial>;
  private surface: THREE.Mesh<THREE.BufferGeometry, THREE.MeshLambertMaterial>;
  private scope = new THREE.Group();
  private cone: THREE.Mesh<THREE.BufferGeometry, THREE.MeshBasicMaterial>;
  private coneEdges = lines(0xff9d2e, 2.5);
  private path = lines(0x1176d0, 3);
  private spots = new THREE.Group();
  private hint: THREE.Mesh;
  private virtual: { scene: THREE.Scene; mesh: THREE.Mesh<THREE.BufferGeometry, THREE.ShaderMaterial>; camera: THREE.Camera };
  private targets: Target[] = [];
  private pose: Pose | null = null;
  private camera: Camera | null = null;
  private dirty = true;
  private touched = false;
  // Pixels that no picture has ever lit: outside the endoscope's field.
  private dark: Uint8Array | null = null;

  constructor(private canvas: HTMLCanvasElement, private labels: HTMLElement, private virtualCanvas: HTMLCanvasElement) {
    try {
      this.renderer = new THREE.WebGLRenderer({ canvas, antialias: true, preserveDrawingBuffer: true });
      this.renderer.setPixelRatio(Math.min(2, window.devicePixelRatio));
      this.renderer.outputColorSpace = THREE.LinearSRGBColorSpace;
    } catch {
      // no WebGL here: slices and words go on
    }
    this.controls = new OrbitControls(this.eye, canvas);
    this.controls.zoomSpeed = 1.4;
    this.controls.addEventListener('change', () => (this.dirty = true));
    this.controls.addEventListener('start', () => (this.touched = true));
    this.eye.up.set(0, 0, 1);
    this.eye.position.set(0, -300, 60);
    const lamp = new THREE.DirectionalLight(0xffffff, 0.55 * Math.PI);
    lamp.position.set(0.2, 0.3, 1);
    this.eye.add(lamp);
    this.scene.add(new THREE.AmbientLight(0xffffff, 0.5 * Math.PI), this.eye);
    const glass = new THREE.ShaderMaterial({
      vertexShader: GLASS.vertex, fragmentShader: GLASS.fragment, uniforms: { color: { value: new THREE.Color(0x5f7f9c) }, most: { value: 0.62 } },
      transparent: true, depthWrite: false, side: THREE.DoubleSide,
    });
    this.wall = new THREE.Mesh(new THREE.BufferGeometry(), glass);
    this.wall.renderOrder = 3;
    this.surface = new THREE.Mesh(new THREE.BufferGeometry(), new THREE.MeshLambertMaterial({ vertexColors: true, side: THREE.DoubleSide }));
    this.cone = new THREE.Mesh(new THREE.BufferGeometry(), new THREE.MeshBasicMaterial({ color: 0xff9d2e, transparent: true, opacity: 0.35, side: THREE.DoubleSide, depthTest: false, depthWrite: false }));
    this.cone.renderOrder = 4;
    this.coneEdges.renderOrder = this.path.renderOrder = 5;
    for (const line of [this.coneEdges, this.path]) (line.material as LineMaterial).depthTest = false;
    this.scope.add(this.cone, this.coneEdges);
    this.hint = ball(0xe05cff, 3);
    this.hint.visible = false;
    this.scene.add(this.surface, this.path, this.scope, this.spots, this.hint, this.wall);
    for (const part of [this.wall, this.surface]) part.visible = false;
    for (const part of [this.path, this.coneEdges, this.cone]) part.frustumCulled = false;
    const endoscope = new THREE.ShaderMaterial({
      vertexShader: ENDOSCOPE.vertex, fragmentShader: ENDOSCOPE.fragment, side: THREE.DoubleSide,
      uniforms: { cameraFromCt: { value: new THREE.Matrix4() }, lens: { value: new THREE.Vector4() }, alpha: { value: 0 }, reach: { value: 0 }, exposure: { value: 1 }, metering: { value: false } },
    });
    const mesh = new THREE.Mesh(this.wall.geometry, endoscope), scene = new THREE.Scene();
    mesh.frustumCulled = false;
    scene.add(mesh);
    scene.background = new THREE.Color(0x000000);
    this.virtual = { scene, mesh, camera: new THREE.Camera() };
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement!);
    this.resize();
    const tick = () => {
      requestAnimationFrame(tick);
      this.controls.update();
      if (!this.dirty || !this.canvas.parentElement!.clientWidth) return;
      this.dirty = false;
      this.renderer?.render(this.scene, this.eye);
      this.placeLabels();
    };
    tick();
  }

  get works() { return this.renderer !== null; }

  clear() {
    this.putWall(null);
    this.putSurface(null);
    this.setTargets([]);
    this.showScope(null, null);
    this.setPath([]);
    this.showHint(null);
    this.dark = null;
    this.touched = false;
  }

  setBackground(color: string) {
    this.scene.background = new THREE.Color(color);
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

  putWall(buffer: ArrayBuffer | null) {
    this.wall.geometry.dispose();
    this.wall.geometry = buffer ? geometryOf(buffer, false) : new THREE.BufferGeometry();
    this.virtual.mesh.geometry = this.wall.geometry;
    this.wall.visible = buffer !== null;
    if (buffer) this.fit(true);
    this.dirty = true;
  }
  putSurface(buffer: ArrayBuffer | null) {
    this.surface.geometry.dispose();
    this.surface.geometry = buffer ? geometryOf(buffer, false) : new THREE.BufferGeometry();
    this.surface.visible = buffer !== null;
    if (buffer) this.fit(true);
    this.dirty = true;
  }
  get hasWall() { return this.wall.visible; }
  get hasSurface() { return this.surface.visible; }
  showParts(wall: boolean, surface: boolean) {
    this.wall.visible = wall && this.wall.geometry.hasAttribute('position');
    this.surface.visible = surface && this.surface.geometry.hasAttribute('position');
    this.dirty = true;
  }

  setTargets(targets: Target[]) {
    this.targets = targets.slice(0, MOST_LABELS);
    this.spots.clear();
    for (const { place } of this.targets) {
      const spot = ball(0x2fd08a, 1.6);
      spot.position.set(...place);
      this.spots.add(spot);
    }
    this.labels.replaceChildren(...this.targets.map(({ name }) => Object.assign(document.createElement('span'), { textContent: name })));
    this.dirty = true;
  }
  private placeLabels() {
    const { clientWidth: width, clientHeight: height } = this.canvas.parentElement!;
    this.targets.forEach(({ place }, i) => {
      const at = new THREE.Vector3(...place).project(this.eye), label = this.labels.children[i] as HTMLElement;
      label.hidden = at.z > 1 || Math.abs(at.x) > 1 || Math.abs(at.y) > 1;
      label.style.transform = `translate(${((at.x + 1) / 2) * width + 7}px, ${((1 - at.y) / 2) * height - 8}px)`;
    });
  }

  setPath(places: (Place | null)[]) {
    const positions: number[] = [];
    let before: Place | null = null;
    for (const place of places) {
      if (place && before) positions.push(...before, ...place);
      before = place;
    }
    setLines(this.path, positions);
    this.dirty = true;
  }

  showHint(place: Place | null) {
    this.hint.visible = place !== null;
    if (place) this.hint.position.set(...place);
    this.dirty = true;
  }

  // The scope at a pose in the CT; null where it is not known.
  showScope(pose: Pose | null, camera: Camera | null) {
    this.pose = pose;
    this.camera = camera;
    this.scope.visible = pose !== null;
    if (pose && camera) {
      const length = 9, edge = outlineOf(camera), q = new THREE.Quaternion(...pose.q), tip = new THREE.Vector3(...pose.t);
      const at = (p: Point) => new THREE.Vector3(...p).multiplyScalar(length / Math.hypot(...p)).applyQuaternion(q).add(tip).toArray();
      const rim = edge.map(at), triangles: number[] = [], strokes: number[] = [];
      rim.forEach((corner, i) => {
        const next = rim[(i + 1) % rim.length];
        triangles.push(...pose.t, ...corner, ...next);
        strokes.push(...corner, ...next);
        if (i % (rim.length / 4) === 0) strokes.push(...pose.t, ...corner);
      });
      this.cone.geometry.dispose();
      this.cone.geometry = new THREE.BufferGeometry().setAttribute('position', new THREE.Float32BufferAttribute(triangles, 3));
      setLines(this.coneEdges, strokes);
    }
    this.dirty = true;
  }

  // Looks at the placed surface, or at the whole wall, from the front; `gently` leaves an eye alone that was moved.
  fit(gently = false, around: Place | null = null) {
    if (gently && this.touched) return;
    const part = this.surface.geometry.hasAttribute('position') ? this.surface : this.wall;
    if (!part.geometry.hasAttribute('position')) return;
    part.geometry.computeBoundingSphere();
    const sphere = part.geometry.boundingSphere!, center = around ? new THREE.Vector3(...around) : sphere.center;
    const radius = around ? 28 : Math.max(10, sphere.radius * 1.05), half = (this.eye.fov * Math.PI) / 360;
    const distance = radius / Math.sin(Math.min(half, Math.atan(Math.tan(half) * this.eye.aspect)));
    this.eye.position.copy(center).addScaledVector(new THREE.Vector3(0.62, -0.74, 0.26).normalize(), distance);
    this.controls.target.copy(center);
    this.eye.near = distance / 200;
    this.eye.far = distance * 20;
    this.eye.updateProjectionMatrix();
    this.controls.update();
    this.dirty = true;
  }
  letGo() { this.touched = false; }

  // The wall's place under the pointer.
  pick(clientX: number, clientY: number): Place | null {
    if (!this.wall.visible) return null;
    const box = this.canvas.getBoundingClientRect(), caster = new THREE.Raycaster();
    caster.setFromCamera(new THREE.Vector2(((clientX - box.left) / box.width) * 2 - 1, 1 - ((clientY - box.top) / box.height) * 2), this.eye);
    const hit = caster.intersectObject(this.wall, false)[0];
    return hit ? (hit.point.toArray() as Place) : null;
  }

  private read(width: number, height: number): Uint8Array {
    const target = new THREE.WebGLRenderTarget(width, height), pixels = new Uint8Array(4 * width * height);
    this.renderer!.setRenderTarget(target);
    this.renderer!.render(this.virtual.scene, this.virtual.camera);
    this.renderer!.readRenderTargetPixels(target, 0, 0, width, height, pixels);
    this.renderer!.setRenderTarget(null);
    target.dispose();
    return pixels;
  }

  // As an automatic exposure does it: the lit part's mean, the brightest left out.
  private exposure(width: number, height: number): number {
    const { uniforms } = this.virtual.mesh.material;
    uniforms.metering.value = true;
    const pixels = this.read(width, height), light: number[] = [];
    uniforms.metering.value = false;
    for (let i = 0; i < pixels.length; i += 4) if (pixels[i] > 0) light.push(2 ** ((pixels[i] / 255) * 22 - 20));
    if (!light.length) return 1;
    light.sort((a, b) => a - b);
    const brightest = light[Math.floor(0.95 * (light.length - 1))];
    return (0.6 * light.length) / light.reduce((sum, value) => sum + Math.min(value, brightest), 0);
  }

  // What the CT shows from where the scope is; false where that is nothing. `picture` is the real one.
  drawVirtual(picture: HTMLCanvasElement): boolean {
    const { pose, camera } = this, context = this.virtualCanvas.getContext('2d')!;
    context.clearRect(0, 0, this.virtualCanvas.width, this.virtualCanvas.height);
    if (!this.renderer || !pose || !camera || !this.wall.geometry.hasAttribute('position')) return false;
    const width = VIRTUAL_WIDTH, height = Math.round((width * camera.height) / camera.width), { uniforms } = this.virtual.mesh.material;
    uniforms.cameraFromCt.value.compose(new THREE.Vector3(...pose.t), new THREE.Quaternion(...pose.q), new THREE.Vector3(1, 1, 1)).invert();
    uniforms.lens.value.set((2 * camera.fx) / camera.width, (-2 * camera.fy) / camera.height, (2 * camera.cx + 1) / camera.width - 1, 1 - (2 * camera.cy + 1) / camera.height);
    const alpha = camera.alpha ?? 0;
    uniforms.alpha.value = alpha;
    uniforms.reach.value = alpha <= 0.5 ? alpha / (1 - alpha) : (1 - alpha) / alpha;
    uniforms.exposure.value = this.exposure(METER_WIDTH, Math.round((METER_WIDTH * height) / width));
    const pixels = this.read(width, height), image = context.createImageData(width, height), dark = this.darkPixels(picture, width, height);
    let lit = 0;
    for (let y = 0; y < height; ++y)
      for (let x = 0; x < width; ++x) {
        const from = 4 * ((height - 1 - y) * width + x), to = 4 * (y * width + x);
        if (pixels[from] + pixels[from + 1] > 0) ++lit;
        if (!dark[y * width + x]) image.data.set(pixels.subarray(from, from + 3), to);
        image.data[to + 3] = 255;
      }
    this.virtualCanvas.width = width;
    this.virtualCanvas.height = height;
    context.putImageData(image, 0, 0);
    return lit > 0.02 * width * height;
  }

  private darkPixels(picture: HTMLCanvasElement, width: number, height: number): Uint8Array {
    if (!this.dark || this.dark.length !== width * height) this.dark = new Uint8Array(width * height).fill(1);
    const copy = document.createElement('canvas');
    [copy.width, copy.height] = [width, height];
    const context = copy.getContext('2d', { willReadFrequently: true })!;
    context.drawImage(picture, 0, 0, width, height);
    const { data } = context.getImageData(0, 0, width, height);
    for (let i = 0; i < this.dark.length; ++i) if (Math.max(data[4 * i], data[4 * i + 1], data[4 * i + 2]) >= 10) this.dark[i] = 0;
    return this.dark;
  }
}

function ball(color: number, radius: number): THREE.Mesh {
  const mesh = new THREE.Mesh(new THREE.SphereGeometry(radius, 18, 12), new THREE.MeshBasicMaterial({ color, depthTest: false, transparent: true, opacity: 0.85 }));
  mesh.renderOrder = 6;
  return mesh;
}

function lines(color: number, width: number): LineSegments2 {
  const line = new LineSegments2(new LineSegmentsGeometry(), new LineMaterial({ color, linewidth: width, transparent: true }));
  line.visible = false;
  return line;
}

function setLines(line: LineSegments2, positions: number[]) {
  line.geometry.dispose();
  line.geometry = new LineSegmentsGeometry();
  line.visible = positions.length > 0;
  if (line.visible) line.geometry.setPositions(positions);
}
