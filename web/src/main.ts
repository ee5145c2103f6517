import './style.css';
import { CtPanel } from './ct_panel';
import { drawDepth, drawRgb, warpDepth } from './depth';
import { KeyframePanel } from './keyframe';
import { Colors, Scene, SURE_GRADIENT } from './scene';
import { Edge, Frame, Keyframe, Kind, Spot, State, Status } from './state';
import { Timeline } from './timeline';

const $ = <T extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as T;
const WORDS: Record<number, string> = {
  [Status.Tracked]: 'tracking', [Status.Weak]: 'weak', [Status.Lost]: 'lost', [Status.Relocalised]: 'relocalised', [Status.Skipped]: 'lost',
};
const LAYERS = ['points', 'surface', 'path', 'keyframes', 'truth', 'anatomy'] as const;

const COLORS = ['picture', 'sure', 'seen'] as const;
const MOST_SPOTS = 12;

const state = new State();
const scene = new Scene($<HTMLCanvasElement>('view'), $<HTMLCanvasElement>('picture'), state);
const timeline = new Timeline($<HTMLCanvasElement>('timeline'), (to) => seek(to));
const panel = new KeyframePanel(state);
let socket: WebSocket | null = null;
const ctPanel = new CtPanel(state, $<HTMLCanvasElement>('picture'), (message) => socket?.readyState === WebSocket.OPEN && socket.send(message), (offered) => {
  $('panes').hidden = !offered;
  setPane(offered ? kept.pane ?? 'ct' : 'map');
});
let position = -1; // into state.frames; -1: none yet
let newest = true; // stays at the newest frame of a live run
let playing: { started: number; from: number } | null = null;
let chosen: Keyframe | null = null;
let meshes = { surface: false, truth: false, wall: 0 };
let sigmaEnd = 0; // of the surface's scale; 0: not told
let wantedPicture = '';
let wantedFrame = -1; // the frame a reload wants back

// What a reload brings back, besides the run itself, which the server knows.
const kept = JSON.parse(sessionStorage.getItem('lumen') ?? '{}');
function keep(more: object) { sessionStorage.setItem('lumen', JSON.stringify(Object.assign(kept, more))); }

// The large part of the page: the map, or the CT.
function setPane(pane: 'map' | 'ct') {
  $('scene').hidden = pane !== 'map';
  $('ct').hidden = pane !== 'ct';
  $('pane-map').setAttribute('aria-pressed', String(pane === 'map'));
  $('pane-ct').setAttribute('aria-pressed', String(pane === 'ct'));
  document.body.dataset.pane = pane;
  ctPanel.drawSoon();
}

function seek(to: number) {
  if (!state.frames.length) return;
  position = Math.min(state.frames.length - 1, Math.max(0, to));
  newest = position === state.frames.length - 1;
  keep({ run: state.info?.name, frame: newest ? -1 : state.frames[position].index });
  showFrame();
}

function showFrame() {
  const frame = state.frames[position];
  timeline.draw(state, position);
  scene.showFrame(frame);
  ctPanel.showFrame(frame);
  if (!frame) {
    if (state.info && !state.info.live) $('state').textContent = 'no frames';
    return;
  }
  const chip = $('state'), live = state.info?.live ?? false;
  chip.dataset.state = chip.textContent = WORDS[frame.status];
  $('reason').textContent = live ? (newest ? [state.status.phase, state.status.reason].filter(Boolean).join(' · ') : '') : state.reasonOf(frame);
  $('time').textContent = `frame ${frame.index} of ${state.frames[state.frames.length - 1].index} · ${frame.time.toFixed(2)} s`;
  document.body.dataset.frame = String(frame.index);
  showPicture(frame);
  showDepth(frame);
}

function pictureShown(frame: number, text: string) {
  $('picture-text').textContent = text;
  document.body.dataset.picture = String(frame);
  scene.pictureChanged();
  ctPanel.pictureChanged();
}

function showPicture(frame: Frame) {
  const canvas = $<HTMLCanvasElement>('picture');
  if (state.picture && newest) {
    wantedPicture = '';
    if (Number(document.body.dataset.picture) === state.picture.frame) return;
    drawRgb(canvas, state.picture.rgb, state.picture.width, state.picture.height);
    pictureShown(state.picture.frame, `frame ${state.picture.frame}`);
    return;
  }
  const address = `/frame/${frame.index}.png`;
  if (address === wantedPicture) return;
  wantedPicture = address;
  const image = new Image();
  image.onload = () => {
    if (wantedPicture !== address) return;
    canvas.width = image.width;
    canvas.height = image.height;
    canvas.getContext('2d')!.drawImage(image, 0, 0);
    pictureShown(frame.index, `frame ${frame.index}${state.info?.pictures ? '' : ': the keyframe before it'}`);
  };
  image.src = address;
}

function showDepth(frame: Frame) {
  const keyframe = state.keyframeOf(frame), cloud = keyframe && state.clouds.get(keyframe.id), pose = state.locate(frame), camera = state.info?.camera;
  const canvas = $<HTMLCanvasElement>('depth');
  if (!keyframe || !cloud || !pose || !camera) {
    canvas.getContext('2d')!.clearRect(0, 0, canvas.width, canvas.height);
    $('depth-text').textContent = !frame.pose ? 'no depth: the camera is lost here' : state.info?.live ? 'its depth is on its way' : 'there is no depth map for it';
    $('bar-far').textContent = 'far';
    return;
  }
  const depth = warpDepth(cloud, Math.exp(keyframe.logScale), keyframe.pose, pose, camera);
  const far = drawDepth(canvas, depth, cloud.width, cloud.height);
  $('depth-text').textContent = keyframe.frame === frame.index ? 'its depth' : `its depth, by the keyframe at frame ${keyframe.frame}`;
  $('bar-far').textContent = `${far.toFixed(2)} map units`;
}

function showStatus() {
  const s = state.status, count = (kind: Edge) => state.edges.filter((edge) => edge[2] === kind && !edge[3]).length;
  const isLost = (frame?: Frame) => frame !== undefined && (frame.status === Status.Lost || frame.status === Status.Skipped);
  const lost = state.frames.filter(isLost).length, times = state.frames.filter((frame, i) => isLost(frame) && !isLost(state.frames[i - 1])).length;
  const facts: [string, string | number][] = [
    ['frames', state.frames.length], ['lost frames', lost], ['keyframes', state.keyframes.size], ['frames/s', s.fps ? s.fps.toFixed(1) : '–'],
    ['local loops', count(Edge.Local)], ['global loops', count(Edge.Global)], ['times lost', times], ['points, 1000', Math.round(scene.pointCount() / 1000)],
  ];
  $('facts').replaceChildren(
    ...facts.map(([name, value]) => {
      const box = document.createElement('div');
      box.append(Object.assign(document.createElement('b'), { textContent: String(value) }), Object.assign(document.createElement('span'), { textContent: name }));
      return box;
    }),
  );
  const stages = Object.entries<any>(s.stages ?? {}).filter(([, stage]) => (stage.mean_ms ?? 0) >= 0.05), table = $<HTMLTableElement>('stages');
  const longest = Math.max(1, ...stages.map(([, stage]) => stage.mean_ms));
  table.replaceChildren();
  for (const [name, stage] of stages) {
    const row = table.insertRow(), bar = document.createElement('i');
    row.insertCell().textContent = name;
    bar.style.width = `${(100 * stage.mean_ms) / longest}%`;
    row.insertCell().append(bar);
    row.insertCell().textContent = `${stage.mean_ms.toFixed(1)} ms`;
  }
}

function showInfo() {
  const info = state.info!, label: Record<string, string> = { 'surface.ply': '↓ surface', 'frames.tum': '↓ path', 'keyframes.tum': '↓ keyframes' };
  $('name').textContent = info.name + (info.live ? ' (live)' : '');
  document.title = `Lumen: ${info.name}`;
  document.body.dataset.live = String(info.live);
  document.body.dataset.truthSurface = String(info.truth_surface);
  $('remarks').replaceChildren(...info.remarks.map((remark) => Object.assign(document.createElement('li'), { textContent: remark })));
  $('downloads').replaceChildren(
    ...info.downloads.map((name) => Object.assign(document.createElement('a'), { className: 'button', href: `/download/${name}`, textContent: label[name] ?? name, title: name, download: name })),
  );
  if (info.surface && !meshes.surface) {
    meshes.surface = true;
    void loadMesh('/surface.bin', false);
  }
}

async function loadMesh(address: string, truth: boolean) {
  const answer = await fetch(address);
  if (!answer.ok) return;
  scene.putMesh(await answer.arrayBuffer(), truth, $<HTMLInputElement>('through').checked);
  if (truth) return;
  await loadSigma();
  // Points would only veil a surface; they are a click away.
  if (kept.layers?.points === undefined) setLayer('points', false);
  document.body.dataset.surface = 'shown';
  scene.fit(true);
}

async function loadSigma() {
  const answer = await fetch('/sigma.bin'), bytes = answer.ok ? await answer.arrayBuffer() : new ArrayBuffer(0);
  sigmaEnd = bytes.byteLength ? scene.putSigma(bytes) : 0;
  setColors(kept.colors ?? 'picture');
}

// Colours that nothing is known for are not offered.
function setColors(wanted: Colors) {
  const offered: Record<Colors, boolean> = { picture: true, sure: sigmaEnd > 0 || state.sigmas.length > 0, seen: state.coverage !== null };
  const colors = offered[wanted] ? wanted : 'picture';
  for (const one of COLORS) {
    $<HTMLInputElement>(`colors-${one}`).checked = one === colors;
    $<HTMLInputElement>(`colors-${one}`).parentElement!.hidden = !offered[one];
  }
  $('colors').hidden = !offered.sure && !offered.seen;
  $('legend').dataset.colors = document.body.dataset.colors = colors;
  $('sure-end').textContent = sigmaEnd ? `${sigmaEnd.toPrecision(2)} map units off (1 σ)` : 'unsure';
  scene.setColors(colors);
}

function goTo(spot: Spot) {
  keep({ colors: 'seen' });
  setColors('seen');
  const found = state.frames.findIndex((frame) => frame && frame.index >= spot.frame);
  if (found >= 0) seek(found);
  scene.showSpot(spot.middle);
}

// What was not seen, in words, with the frames to go back to.
function showCoverage() {
  const { coverage } = state;
  $('coverage').hidden = coverage === null;
  document.body.dataset.spots = String(coverage?.spots.length ?? '');
  setColors(kept.colors ?? 'picture');
  if (!coverage) return;
  $('coverage-words').replaceChildren(...coverage.words.slice(0, 1).map((words) => Object.assign(document.createElement('p'), { textContent: words })));
  $('spots').replaceChildren(
    ...coverage.spots.slice(0, MOST_SPOTS).map((spot) => {
      const button = Object.assign(document.createElement('button'), { textContent: spot.words });
      button.onclick = stopAnd(() => goTo(spot));
      const item = document.createElement('li');
      item.append(button);
      return item;
    }),
  );
  const more = coverage.spots.length - MOST_SPOTS;
  $('spots-more').textContent = more > 0 ? `and ${more} smaller ${more > 1 ? 'ones' : 'one'}` : '';
  if (meshes.wall !== coverage.version) {
    meshes.wall = coverage.version;
    void fetch('/coverage.bin').then(async (answer) => {
      if (!answer.ok) return;
      scene.putWall(await answer.arrayBuffer());
      document.body.dataset.wall = String(coverage.version);
    });
  }
}

function choose(keyframe: Keyframe | null) {
  chosen = keyframe;
  scene.showChosen(keyframe);
  panel.show(keyframe);
}

// The keyframe before or after the present frame, opened.
function step(direction: number) {
  const at = chosen?.frame ?? state.frames[position]?.index ?? 0;
  const ordered = [...state.keyframes.values()].sort((a, b) => a.frame - b.frame);
  const next = direction > 0 ? ordered.find((keyframe) => keyframe.frame > at) : ordered.reverse().find((keyframe) => keyframe.frame < at);
  if (!next) return;
  choose(next);
  seek(state.frames.findIndex((frame) => frame?.index === next.frame));
}

// Messages are taken in at once and drawn together, once a picture of the screen.
const changed = { kinds: new Set<Kind>(), clouds: new Set<number>(), due: false };

function drawChanges() {
  const { kinds, clouds } = changed;
  changed.due = false;
  if (kinds.has(Kind.Info)) showInfo();
  if (kinds.has(Kind.Frames) || kinds.has(Kind.Keyframes)) scene.updatePath();
  if (kinds.has(Kind.Frames) || kinds.has(Kind.Keyframes) || kinds.has(Kind.Edges)) scene.updateKeyframes();
  if (clouds.size) scene.updateClouds(clouds);
  if (kinds.has(Kind.Truth)) scene.updateTruth();
  if (kinds.has(Kind.Coverage) || kinds.has(Kind.Sigmas)) showCoverage();
  if (kinds.has(Kind.Ct) || kinds.has(Kind.Navigation) || kinds.has(Kind.Info)) ctPanel.update();
  if (state.navigation && (kinds.has(Kind.Frames) || kinds.has(Kind.Keyframes) || kinds.has(Kind.Navigation))) ctPanel.updatePath();
  document.body.dataset.truth = String(state.truth.length > 0);
  showStatus();
  if (state.frames.length && (newest || position < 0)) position = state.frames.length - 1;
  if (wantedFrame >= 0) {
    const found = state.frames.findIndex((frame) => frame?.index === wantedFrame);
    if (found >= 0) [position, newest, wantedFrame] = [found, found === state.frames.length - 1, -1];
  }
  if (kinds.has(Kind.Frames) || kinds.has(Kind.Keyframes)) scene.fit(true);
  if (chosen && (kinds.has(Kind.Keyframes) || kinds.has(Kind.Edges))) choose(state.keyframes.get(chosen.id) ?? null);
  showFrame();
  kinds.clear();
  clouds.clear();
  Object.assign(document.body.dataset, { keyframes: state.keyframes.size, frames: state.frames.length, clouds: state.clouds.size });
}

function connect() {
  socket = new WebSocket(`ws://${location.host}/ws${location.search}`);
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => {
    // The server sends everything anew; what was known may be of another run by now.
    Object.assign(state, new State());
    scene.clear();
    meshes = { surface: false, truth: false, wall: 0 };
    sigmaEnd = 0;
    showCoverage();
    ctPanel.clear();
    choose(null);
    [newest, position, wantedPicture] = [true, -1, ''];
    Object.assign(document.body.dataset, { connected: 'true', picture: '', surface: '' });
  };
  socket.onmessage = (event) => {
    const first = state.info === null;
    const { kinds, clouds } = state.apply(event.data);
    kinds.forEach((kind) => changed.kinds.add(kind));
    clouds.forEach((id) => changed.clouds.add(id));
    if (first && state.info && kept.run === state.info.name) {
      wantedFrame = kept.frame ?? -1;
      if (kept.eye) requestAnimationFrame(() => requestAnimationFrame(() => scene.setEye(kept.eye)));
    }
    if (!changed.due) requestAnimationFrame(drawChanges);
    changed.due = true;
  };
  socket.onclose = () => {
    document.body.dataset.connected = 'false';
    const chip = $('state');
    chip.dataset.state = 'waiting';
    chip.textContent = 'not connected';
    $('reason').textContent = 'the program has ended, or begins to show the finished run; trying again';
    setTimeout(connect, 700);
  };
}

function play() {
  playing = playing || !state.frames.length ? null : { started: performance.now(), from: 0 };
  $('play').textContent = playing ? '❚❚' : '▶';
  if (!playing) return;
  if (position >= state.frames.length - 1) position = 0;
  playing.from = state.frames[position].time;
  const tick = () => {
    if (!playing) return;
    const time = playing.from + (performance.now() - playing.started) / 1000;
    let next = position;
    while (next < state.frames.length - 1 && state.frames[next + 1].time <= time) ++next;
    if (next !== position) seek(next);
    if (next >= state.frames.length - 1) return play();
    requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

function stopAnd(action: () => void) {
  return () => {
    if (playing) play();
    action();
  };
}

function setTheme(theme: string) {
  document.documentElement.dataset.theme = theme;
  scene.setBackground(getComputedStyle(document.documentElement).getPropertyValue('--scene').trim());
  ctPanel.setBackground(getComputedStyle(document.documentElement).getPropertyValue('--scene').trim());
  timeline.draw(state, position);
}

function savePicture() {
  const link = document.createElement('a');
  link.href = scene.picture();
  link.download = `${state.info?.name ?? 'lumen'}.png`;
  link.click();
}

// Those that are offered, by turns.
function nextColors() {
  const offered = COLORS.filter((colors) => !$<HTMLInputElement>(`colors-${colors}`).parentElement!.hidden);
  const at = offered.findIndex((colors) => $<HTMLInputElement>(`colors-${colors}`).checked);
  $<HTMLInputElement>(`colors-${offered[(at + 1) % offered.length]}`).click();
}

function setFollow(on: boolean) {
  $<HTMLInputElement>('follow').checked = scene.follow = on;
  keep({ follow: on });
  if (!on) {
    scene.letGo();
    scene.fit();
  }
  showFrame();
}

function setLayer(layer: (typeof LAYERS)[number], on: boolean) {
  $<HTMLInputElement>(`show-${layer}`).checked = on;
  scene.groups[layer].visible = on;
  if (layer === 'anatomy' && on && state.info?.truth_surface && !meshes.truth) {
    meshes.truth = true;
    void loadMesh('/truth.bin', true);
  }
  scene.touch();
}

for (const layer of LAYERS) {
  $<HTMLInputElement>(`show-${layer}`).onchange = (event) => {
    const on = (event.target as HTMLInputElement).checked;
    setLayer(layer, on);
    keep({ layers: { ...kept.layers, [layer]: on } });
  };
  if (kept.layers?.[layer] !== undefined) setLayer(layer, kept.layers[layer]);
}
for (const colors of COLORS) {
  $<HTMLInputElement>(`colors-${colors}`).onchange = () => {
    keep({ colors });
    scene.showSpot(null);
    setColors(colors);
  };
}
$<HTMLElement>('sure-bar').style.background = SURE_GRADIENT;
$<HTMLInputElement>('follow').onchange = (event) => setFollow((event.target as HTMLInputElement).checked);
$<HTMLInputElement>('through').onchange = (event) => scene.setThrough((event.target as HTMLInputElement).checked);
$('fit').onclick = () => {
  scene.letGo();
  keep({ eye: null });
  if (scene.follow) setFollow(false);
  scene.fit();
};
$('save').onclick = savePicture;
for (const pane of ['map', 'ct'] as const) {
  $(`pane-${pane}`).onclick = () => {
    keep({ pane });
    setPane(pane);
  };
}
$('play').onclick = play;
$('keyframe-close').onclick = () => choose(null);
$('help-button').onclick = () => $<HTMLDialogElement>('help').showModal();
$('theme').onclick = () => {
  setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
  keep({ theme: document.documentElement.dataset.theme });
};
scene.onMoved = () => keep({ run: state.info?.name, eye: scene.getEye() });
window.addEventListener('resize', () => timeline.draw(state, position));
$('no-view').hidden = scene.works;

let down: [number, number] = [0, 0];
$('view').addEventListener('pointerdown', (event) => {
  down = [event.clientX, event.clientY];
  $('hint').classList.add('gone');
});
$('view').addEventListener('click', (event) => {
  if (Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4) return; // a drag
  const keyframe = scene.pick(event.clientX, event.clientY);
  if (keyframe) choose(keyframe);
});

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || $<HTMLDialogElement>('help').open) return;
  const far = event.shiftKey ? 10 : 1, layer = LAYERS[Number(event.key) - 1];
  const actions: Record<string, () => void> = {
    ' ': play, ArrowLeft: stopAnd(() => seek(position - far)), ArrowRight: stopAnd(() => seek(position + far)), Home: stopAnd(() => seek(0)),
    End: stopAnd(() => seek(state.frames.length - 1)), '[': stopAnd(() => step(-1)), ']': stopAnd(() => step(1)), c: () => setFollow(!scene.follow), f: () => $('fit').click(),
    s: savePicture, k: nextColors, d: () => $('theme').click(), x: () => $('through').click(), t: () => $('panes').hidden || $(document.body.dataset.pane === 'ct' ? 'pane-map' : 'pane-ct').click(), '?': () => $('help-button').click(), Escape: () => choose(null),
  };
  const action = layer ? () => $(`show-${layer}`).click() : actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

// For tests: where keyframes are on the screen.
(window as any).lumenPlaces = () => [...state.keyframes.values()].map((keyframe) => ({ frame: keyframe.frame, at: scene.place(keyframe) }));

setTheme(kept.theme ?? (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'));
if (kept.follow) setFollow(true);
connect();
