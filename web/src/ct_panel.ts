// The panel of the CT: where the run is in it in words, three slices, the scope in the CT's wall, the real picture
// beside what the CT shows from the same place, marked places by their distance, and a hint where the run began.
import { Camera } from './camera';
import { alongSlice, AXES, Axis, byDistance, distance, EDGES, hintOf, inWords, middleOf, onSlice, Place, placeOf, placeOn, poseInCt, sizeOf } from './ct';
import { CtScene } from './ct_scene';
import { Frame, Pose, rotate, State } from './state';

const $ = <T extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as T;
const STATUS_WORDS: Record<string, string> = {
  none: 'no CT', reading: 'reading the CT', searching: 'searching', doubtful: 'doubtful', registered: 'in the CT', unusable: 'CT of no use', 'not registered': 'not in the CT',
};
const FIELDS = [30, 50, 80, 120, 180, 1e9], NEAR_FIELD = 2; // mm across a slice
const MOST_ROWS = 50;
const CLOSE_TO_PLANE = 4; // mm: targets that a slice shows

// One slice: asks for the newest plane only, and draws what it has meanwhile.
class SliceView {
  private image: HTMLImageElement | null = null;
  private shown = -1;
  private wanted = -1;
  private loading = false;
  readonly canvas: HTMLCanvasElement;
  scale = 1; // pixels of the screen to one of the slice
  left = 0;
  top = 0;

  constructor(readonly axis: Axis, private redraw: () => void) { this.canvas = $<HTMLCanvasElement>(`ct-${AXES[axis]}`); }

  forget() {
    this.image = null;
    this.shown = this.wanted = -1;
  }
  want(plane: number) {
    this.wanted = plane;
    if (this.loading || plane === this.shown) return;
    this.loading = true;
    const image = new Image(), done = () => {
      this.loading = false;
      this.redraw();
    };
    image.onload = () => {
      this.image = image;
      this.shown = plane;
      document.body.dataset[AXES[this.axis]] = String(plane);
      done();
      if (this.wanted !== plane) this.want(this.wanted);
    };
    image.onerror = () => { this.loading = false; };
    image.src = `/ct/slice/${AXES[this.axis]}/${plane}.png`;
  }
  get picture() { return this.image; }
}

export class CtPanel {
  private scene: CtScene;
  private views: SliceView[];
  private place: Place | null = null; // where the slices cross
  private pose: Pose | null = null; // of the shown frame, in the CT
  private camera: Camera | null = null;
  private follows = true;
  private pointing = false;
  private hint: Place | null = null;
  private field: number | null = null; // into FIELDS, once somebody has chosen
  private walls = { wall: 0, surface: 0 };
  private due = false;
  private shown: Frame | undefined;
  private offered = false;

  constructor(private state: State, private picture: HTMLCanvasElement, private send: (message: string) => void, private onOffered: (offered: boolean) => void) {
    this.scene = new CtScene($<HTMLCanvasElement>('ct-view'), $('ct-labels'), $<HTMLCanvasElement>('ct-virtual'));
    this.views = [Axis.Sagittal, Axis.Coronal, Axis.Axial].map((axis) => new SliceView(axis, () => this.drawSoon()));
    for (const view of this.views) this.listen(view);
    $<HTMLInputElement>('ct-show-wall').onchange = $<HTMLInputElement>('ct-show-surface').onchange = () => this.showParts();
    $('ct-fit').onclick = () => { this.scene.letGo(); this.scene.fit(); };
    $('ct-near').onclick = () => this.place && this.scene.fit(false, this.place);
    $('ct-follow').onclick = () => { this.follows = true; this.showFrame(this.shown); };
    $('ct-closer').onclick = () => this.zoom(-1);
    $('ct-wider').onclick = () => this.zoom(1);
    $('ct-point').onclick = () => this.setPointing(!this.pointing);
    let down: [number, number] = [0, 0];
    $('ct-view').addEventListener('pointerdown', (event) => (down = [event.clientX, event.clientY]));
    $('ct-view').addEventListener('click', (event) => {
      if (!this.pointing || Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4) return;
      const place = this.scene.pick(event.clientX, event.clientY);
      if (place) this.tell(place);
    });
    new ResizeObserver(() => this.drawSoon()).observe($('ct-slices'));
  }

  private listen(view: SliceView) {
    const pixel = (event: MouseEvent): [number, number] => {
      const box = view.canvas.getBoundingClientRect();
      return [(event.clientX - box.left - view.left) / view.scale, (event.clientY - box.top - view.top) / view.scale];
    };
    view.canvas.onclick = (event) => {
      const slices = this.state.ct?.slices;
      if (!slices || !this.place) return;
      const [u, v] = pixel(event), [width, height] = sizeOf(slices, view.axis);
      if (u < -0.5 || v < -0.5 || u > width - 0.5 || v > height - 0.5) return;
      const place = placeOn(slices, view.axis, onSlice(slices, view.axis, this.place).plane, u, v);
      if (this.pointing) this.tell(place);
      else this.goTo(place);
    };
    view.canvas.addEventListener('wheel', (event) => {
      event.preventDefault();
      const slices = this.state.ct?.slices;
      if (event.ctrlKey) return this.zoom(Math.sign(event.deltaY));
      if (!slices || !this.place) return;
      const place: Place = [...this.place];
      place[view.axis] += Math.sign(-event.deltaY) * slices.step;
      if (onSlice(slices, view.axis, place).inside) this.goTo(place);
    }, { passive: false });
  }

  private zoom(by: number) {
    this.field = Math.min(FIELDS.length - 1, Math.max(0, (this.field ?? (this.pose ? NEAR_FIELD : FIELDS.length - 1)) + by));
    this.drawSoon();
  }
  private goTo(place: Place) {
    this.follows = false;
    this.place = place;
    this.drawSoon();
  }
  private setPointing(on: boolean) {
    this.pointing = on;
    $('ct').dataset.pointing = String(on);
    $('ct-hint').textContent = on ? 'click on a slice or on the wall where the video begins' : this.hint ? `told: it begins near ${inWords(this.hint)}` : '';
  }
  private tell(place: Place) {
    this.hint = place;
    this.send(hintOf(place));
    this.scene.showHint(place);
    document.body.dataset.hint = place.map((value) => value.toFixed(0)).join(' ');
    this.setPointing(false);
    this.drawSoon();
  }

  clear() {
    this.walls = { wall: 0, surface: 0 };
    [this.place, this.pose, this.hint, this.follows, this.shown, this.offered] = [null, null, null, true, undefined, false];
    for (const view of this.views) view.forget();
    this.scene.clear();
    this.setPointing(false);
    this.onOffered(false);
  }
  setBackground(color: string) { this.scene.setBackground(color); }

  // What the server says of the CT or of the place in it.
  update() {
    const { ct, navigation } = this.state;
    if (!ct && !navigation) return;
    if (!this.offered) this.onOffered((this.offered = true));
    const status = navigation?.status ?? 'none', chip = $('ct-state');
    chip.dataset.state = status;
    chip.textContent = STATUS_WORDS[status] ?? status;
    $('ct-words').textContent = $('ct-words').title = navigation?.words ?? '';
    $('ct-name').textContent = ct?.name ?? '';
    $('ct-point').hidden = !this.state.info?.live || !ct || status === 'registered' || (!ct.wall && !ct.slices);
    if ($('ct-point').hidden && this.pointing) this.setPointing(false);
    $('ct-no-slices').hidden = !!ct?.slices;
    this.scene.setTargets(ct?.targets ?? []);
    void this.load('wall', ct?.wall ?? 0, (bytes) => this.scene.putWall(bytes));
    void this.load('surface', navigation?.surface ?? 0, (bytes) => this.scene.putSurface(bytes));
    document.body.dataset.ct = status;
    this.showFrame(this.shown);
  }
  private async load(what: 'wall' | 'surface', version: number, put: (bytes: ArrayBuffer | null) => void) {
    if (this.walls[what] === version) return;
    this.walls[what] = version;
    if (!version) put(null);
    const answer = version ? await fetch(`/ct/${what}.bin`) : null;
    if (!answer?.ok || this.walls[what] !== version) return;
    put(await answer.arrayBuffer());
    document.body.dataset[`ct${what}`] = String(version);
    this.showParts();
    this.drawSoon();
  }
  private showParts() {
    this.scene.showParts($<HTMLInputElement>('ct-show-wall').checked, $<HTMLInputElement>('ct-show-surface').checked);
  }

  // The map has moved, or grew.
  updatePath() {
    const submapOf = (frame: Frame) => (frame.reference >= 0 ? this.state.keyframes.get(frame.reference)?.submap ?? -1 : -1);
    this.scene.setPath(this.state.frames.map((frame) => {
      const pose = frame ? this.state.locate(frame) : null, similarity = pose && placeOf(this.state.navigation, submapOf(frame));
      return similarity ? poseInCt(similarity, pose).t : null;
    }));
  }

  showFrame(frame: Frame | undefined) {
    this.shown = frame;
    if (!this.offered) return;
    const { ct, navigation } = this.state, pose = frame ? this.state.locate(frame) : null;
    const submap = frame && frame.reference >= 0 ? this.state.keyframes.get(frame.reference)?.submap ?? -1 : -1;
    const similarity = placeOf(navigation, submap);
    this.pose = pose && similarity ? poseInCt(similarity, pose) : null;
    this.camera = this.state.info?.camera ?? null;
    if (this.pose && this.follows) this.place = this.pose.t;
    if (!this.place && ct?.slices) this.place = middleOf(ct.slices);
    $('ct-follow').hidden = this.follows || !this.pose;
    const known = navigation?.status === 'registered';
    $('ct-where').textContent = this.pose ? `tip at ${inWords(this.pose.t)}` : known ? (pose ? 'this part of the map is not in the CT' : 'the camera is lost here: no place') : '';
    document.body.dataset.tip = this.pose ? this.pose.t.map((value) => value.toFixed(1)).join(' ') : '';
    this.scene.showScope(this.pose, this.camera);
    this.showTargets();
    this.drawSoon();
  }

  private showTargets() {
    const targets = this.state.ct?.targets ?? [];
    $('ct-targets').hidden = !targets.length;
    const list = $('ct-target-list'), near = byDistance(targets, this.pose?.t ?? null).slice(0, MOST_ROWS);
    // Rows stay while their words change: a click must find the one it began on.
    while (list.children.length > near.length) list.lastElementChild!.remove();
    while (list.children.length < near.length) {
      const row = document.createElement('button');
      row.append(document.createElement('span'), document.createElement('b'));
      list.append(row);
    }
    near.forEach(({ target, mm }, i) => {
      const row = list.children[i] as HTMLButtonElement;
      row.children[0].textContent = target.name;
      row.children[1].textContent = mm === null ? '–' : `${mm.toFixed(mm < 10 ? 1 : 0)} mm`;
      row.onclick = () => this.goTo(target.place);
    });
  }

  pictureChanged() { this.drawSoon(); }
  drawSoon() {
    if (this.due) return;
    this.due = true;
    requestAnimationFrame(() => {
      this.due = false;
      this.draw();
    });
  }

  private draw() {
    if ($('ct').hidden || !this.offered) return;
    $('ct-follow').hidden = this.follows || !this.pose;
    for (const view of this.views) this.drawSlice(view);
    const real = $<HTMLCanvasElement>('ct-real');
    [real.width, real.height] = [this.picture.width, this.picture.height];
    real.getContext('2d')!.drawImage(this.picture, 0, 0);
    const seen = this.scene.drawVirtual(this.picture);
    $('ct-virtual-text').textContent = seen ? 'the CT from the same place' : this.pose ? 'the CT has no wall here' : 'the CT: no place known';
    document.body.dataset.virtual = String(seen);
  }

  private drawSlice(view: SliceView) {
    const slices = this.state.ct?.slices, { canvas, axis } = view, context = canvas.getContext('2d')!;
    const ratio = Math.min(2, window.devicePixelRatio), width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !height) return;
    [canvas.width, canvas.height] = [Math.round(ratio * width), Math.round(ratio * height)];
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = '#000';
    context.fillRect(0, 0, width, height);
    const label = $(`ct-${AXES[axis]}-text`);
    label.textContent = AXES[axis];
    if (!slices || !this.place) return;
    const cross = onSlice(slices, axis, this.place), [columns, rows] = sizeOf(slices, axis);
    view.want(cross.plane);
    const whole = Math.min(width / columns, height / rows);
    // Before there is a place to look at closely, all of it.
    const field = this.field ?? (this.pose ? NEAR_FIELD : FIELDS.length - 1);
    view.scale = Math.max(whole, Math.min(width, height) / (FIELDS[field] / slices.step));
    // The cross in the middle, or the whole slice.
    const centre = view.scale > whole ? [cross.u, cross.v] : [(columns - 1) / 2, (rows - 1) / 2];
    view.left = width / 2 - view.scale * centre[0];
    view.top = height / 2 - view.scale * centre[1];
    const x = (u: number) => view.left + view.scale * u, y = (v: number) => view.top + view.scale * v;
    context.imageSmoothingEnabled = true;
    context.imageSmoothingQuality = 'high';
    if (view.picture) context.drawImage(view.picture, x(-0.5), y(-0.5), view.scale * columns, view.scale * rows);
    label.textContent = `${AXES[axis]} · ${inWords(this.place).split(', ')[axis].replace(' mm', '')} mm`;
    context.lineWidth = 1;
    context.font = '11px system-ui, sans-serif';
    for (const { name, place } of this.state.ct?.targets ?? []) {
      const at = onSlice(slices, axis, place), off = Math.abs(place[axis] - this.place[axis]);
      if (!at.inside || off > CLOSE_TO_PLANE) continue;
      context.strokeStyle = '#2fd08a';
      context.lineWidth = 2;
      context.beginPath();
      context.arc(x(at.u), y(at.v), 4, 0, 7);
      context.stroke();
      write(context, name, x(at.u) + 7, y(at.v) - 5, 'start', '#6ff0b8');
    }
    if (this.hint && Math.abs(this.hint[axis] - this.place[axis]) <= 15) this.ring(context, x(onSlice(slices, axis, this.hint).u), y(onSlice(slices, axis, this.hint).v), (15 / slices.step) * view.scale);
    this.drawCross(context, axis, x(cross.u), y(cross.v), width, height);
    const [left, right, top, bottom] = EDGES[axis];
    write(context, left, 9, height / 2 + 4, 'center');
    write(context, right, width - 9, height / 2 + 4, 'center');
    write(context, top, width / 2, 28, 'center');
    write(context, bottom, width / 2, height - 6, 'center');
    this.drawRuler(context, view.scale / slices.step, width, height);
  }
  private ring(context: CanvasRenderingContext2D, u: number, v: number, radius: number) {
    context.strokeStyle = '#e05cff';
    context.beginPath();
    context.arc(u, v, radius, 0, 7);
    context.stroke();
  }
  // At the tip orange, with the way it looks; elsewhere grey.
  private drawCross(context: CanvasRenderingContext2D, axis: Axis, u: number, v: number, width: number, height: number) {
    const atTip = this.pose !== null && this.place !== null && distance(this.pose.t, this.place) < 0.01, gap = 9;
    context.lineWidth = 1;
    context.strokeStyle = atTip ? 'rgba(255, 157, 46, 0.8)' : 'rgba(190, 200, 210, 0.6)';
    context.beginPath();
    for (const [x0, y0, x1, y1] of [[0, v, u - gap, v], [u + gap, v, width, v], [u, 0, u, v - gap], [u, v + gap, u, height]]) {
      context.moveTo(x0, y0);
      context.lineTo(x1, y1);
    }
    context.stroke();
    if (!atTip) return;
    const [du, dv] = alongSlice(axis, rotate(this.pose!.q, [0, 0, 1])), long = 30;
    context.strokeStyle = context.fillStyle = '#ff9d2e';
    context.lineWidth = 2.5;
    context.beginPath();
    context.moveTo(u, v);
    context.lineTo(u + long * du, v + long * dv);
    context.stroke();
    context.beginPath();
    context.arc(u, v, 3.5, 0, 7);
    context.fill();
    context.lineWidth = 1;
  }
  private drawRuler(context: CanvasRenderingContext2D, perMm: number, width: number, height: number) {
    const mm = [5, 10, 20, 50, 100].find((length) => length * perMm > 28) ?? 100;
    context.strokeStyle = '#fff';
    context.lineWidth = 2;
    context.beginPath();
    context.moveTo(width - 10 - mm * perMm, height - 8);
    context.lineTo(width - 10, height - 8);
    context.stroke();
    write(context, `${mm} mm`, width - 10, height - 12, 'right');
  }
}

// Readable on air and on bone.
function write(context: CanvasRenderingContext2D, text: string, x: number, y: number, align: CanvasTextAlign, color = '#fff') {
  context.textAlign = align;
  context.lineWidth = 3;
  context.lineJoin = 'round';
  context.strokeStyle = 'rgba(0, 0, 0, 0.75)';
  context.strokeText(text, x, y);
  context.fillStyle = color;
  context.fillText(text, x, y);
}
