import './style.css';
import { drawDepth, drawRgb, warpDepth } from './depth';
import { Scene } from './scene';
import { Frame, Keyframe, Kind, State, Status } from './state';
import { Timeline } from './timeline';

const $ = <T extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as T;
const WORDS: Record<number, string> = {
  [Status.Tracked]: 'tracking', [Status.Weak]: 'weak', [Status.Lost]: 'lost', [Status.Relocalised]: 'relocalised', [Status.Skipped]: 'lost',
};

let state = new State();
const scene = new Scene($<HTMLCanvasElement>('view'), state);
const timeline = new Timeline($<HTMLCanvasElement>('timeline'), (position) => seek(position));
let position = -1; // into state.frames; -1: none yet
let newest = true; // stays at the newest frame of a live run
let playing: number | null = null;
let chosen: Keyframe | null = null;
let meshes = { surface: false, truth: false };
let wantedPicture = '';

function frameAt(): Frame | undefined { return state.frames[position]; }

function seek(to: number) {
  position = Math.min(state.frames.length - 1, Math.max(0, to));
  newest = position === state.frames.length - 1;
  showFrame();
}

function showFrame() {
  const frame = frameAt();
  timeline.draw(state, position);
  scene.showFrame(frame);
  if (!frame) return;
  const live = state.info?.live ?? false;
  const chip = $('state');
  chip.dataset.state = chip.textContent = WORDS[frame.status];
  $('reason').textContent = newest && live ? (state.status.reason ?? '') : '';
  $('time').textContent = `frame ${frame.index} of ${state.frames[state.frames.length - 1].index}, ${frame.time.toFixed(2)} s`;
  document.body.dataset.frame = String(frame.index);
  showPicture(frame);
  showDepth(frame);
}

function showPicture(frame: Frame) {
  const canvas = $<HTMLCanvasElement>('picture');
  if (state.picture && state.picture.frame >= frame.index && newest) {
    drawRgb(canvas, state.picture.rgb, state.picture.width, state.picture.height);
    $('picture-text').textContent = `frame ${state.picture.frame}`;
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
    $('picture-text').textContent = state.info?.pictures ? `frame ${frame.index}` : `frame ${frame.index} (picture of the keyframe before it)`;
  };
  image.src = address;
}

function showDepth(frame: Frame) {
  const keyframe = state.keyframeOf(frame), cloud = keyframe && state.clouds.get(keyframe.id), pose = state.locate(frame), camera = state.info?.camera;
  const canvas = $<HTMLCanvasElement>('depth');
  if (!keyframe || !cloud || !pose || !camera) {
    canvas.getContext('2d')!.clearRect(0, 0, canvas.width, canvas.height);
    $('depth-text').textContent = pose ? 'no depth yet' : 'no depth: the camera is lost here';
    return;
  }
  const depth = warpDepth(cloud, Math.exp(keyframe.logScale), keyframe.pose, pose, camera);
  drawDepth(canvas, depth, cloud.width, cloud.height);
  $('depth-text').textContent = `depth, from the keyframe at frame ${keyframe.frame}`;
}

function showStatus() {
  const s = state.status, parts: string[] = [];
  if (s.fps) parts.push(`${s.fps.toFixed(1)} fps`);
  parts.push(`${state.keyframes.size} keyframes`, `${state.frames.length} frames`);
  const loops = state.edges.filter((edge) => !edge[3]).length;
  if (loops) parts.push(`${loops} loop${loops > 1 ? 's' : ''}`);
  $('numbers').textContent = parts.join(' · ');
  $('stages').innerHTML = '';
  for (const [name, stage] of Object.entries<any>(s.stages ?? {})) {
    const row = $<HTMLTableElement>('stages').insertRow();
    row.insertCell().textContent = name;
    row.insertCell().textContent = `${(stage.mean_ms ?? 0).toFixed(1)} ms`;
  }
}

function showInfo() {
  const info = state.info!;
  $('name').textContent = info.name + (info.live ? ' (live)' : '');
  document.title = `Lumen: ${info.name}`;
  document.body.dataset.live = String(info.live);
  $('remarks').replaceChildren(...info.remarks.map((remark) => Object.assign(document.createElement('li'), { textContent: remark })));
  $('downloads').replaceChildren(...info.downloads.flatMap((name) => [Object.assign(document.createElement('a'), { href: `/download/${name}`, textContent: name, download: name }), ' ']));
  if (info.surface && !meshes.surface) {
    meshes.surface = true;
    void loadMesh('/surface.bin', false);
  }
}

async function loadMesh(address: string, truth: boolean) {
  const answer = await fetch(address);
  if (!answer.ok) return;
  scene.putMesh(await answer.arrayBuffer(), truth);
  if (!truth) {
    // Points would only veil a surface; they are a click away.
    $<HTMLInputElement>('show-points').checked = false;
    scene.groups.points.visible = false;
    document.body.dataset.surface = 'shown';
  }
  scene.fit(true);
}

function choose(keyframe: Keyframe | null) {
  chosen = keyframe;
  $('keyframe').hidden = !keyframe;
  scene.showChosen(keyframe);
  if (!keyframe) return;
  const cloud = state.clouds.get(keyframe.id);
  $('keyframe-title').textContent = `keyframe at frame ${keyframe.frame}`;
  let text = '';
  if (cloud) {
    drawRgb($<HTMLCanvasElement>('keyframe-picture'), cloud.rgb, cloud.width, cloud.height);
    drawDepth($<HTMLCanvasElement>('keyframe-depth'), cloud.depth, cloud.width, cloud.height);
    const known = cloud.depth.filter((d) => d > 0);
    text = `${known.length} of ${cloud.depth.length} pixels have depth. `;
  }
  const linked = state.edges.filter((edge) => !edge[3] && (edge[0] === keyframe.id || edge[1] === keyframe.id)).map((edge) => state.keyframes.get(edge[0] === keyframe.id ? edge[1] : edge[0])?.frame);
  text += linked.length ? `Loops to frame ${linked.join(', ')}.` : 'No loops.';
  $('keyframe-text').textContent = text;
}

function connect() {
  const socket = new WebSocket(`ws://${location.host}/ws${location.search}`);
  socket.binaryType = 'arraybuffer';
  socket.onopen = () => {
    // The server sends everything anew; what was known may be of another run by now.
    Object.assign(state, new State());
    scene.clear();
    meshes = { surface: false, truth: false };
    choose(null);
    newest = true;
    document.body.dataset.connected = 'true';
  };
  socket.onmessage = (event) => {
    const { kinds, clouds } = state.apply(event.data);
    if (kinds.has(Kind.Info)) showInfo();
    if (kinds.has(Kind.Frames) || kinds.has(Kind.Keyframes)) scene.updatePath();
    if (kinds.has(Kind.Keyframes) || kinds.has(Kind.Edges)) scene.updateKeyframes();
    if (clouds.length) scene.updateClouds(clouds);
    if (kinds.has(Kind.Truth)) scene.updateTruth();
    showStatus();
    if (state.frames.length && (newest || position < 0)) position = state.info?.live || position >= 0 ? state.frames.length - 1 : 0;
    if (kinds.has(Kind.Frames) || kinds.has(Kind.Keyframes)) scene.fit(true);
    if (chosen && kinds.has(Kind.Keyframes)) choose(state.keyframes.get(chosen.id) ?? null);
    showFrame();
    document.body.dataset.keyframes = String(state.keyframes.size);
    document.body.dataset.frames = String(state.frames.length);
    document.body.dataset.clouds = String(state.clouds.size);
  };
  socket.onclose = () => {
    document.body.dataset.connected = 'false';
    const chip = $('state');
    chip.dataset.state = 'waiting';
    chip.textContent = 'not connected';
    $('reason').textContent = 'the program has ended, or shows something else; trying again';
    setTimeout(connect, 700);
  };
}

function play() {
  if (playing !== null) {
    clearInterval(playing);
    playing = null;
    $('play').textContent = '▶';
    return;
  }
  if (position >= state.frames.length - 1) position = 0;
  $('play').textContent = '⏸';
  playing = window.setInterval(() => {
    if (position >= state.frames.length - 1) return play();
    seek(position + 1);
  }, 33);
}

function setTheme(theme: string) {
  document.documentElement.dataset.theme = theme;
  scene.setBackground(getComputedStyle(document.documentElement).getPropertyValue('--scene').trim());
  timeline.draw(state, position);
}

function savePicture() {
  const link = document.createElement('a');
  link.href = scene.picture();
  link.download = `${state.info?.name ?? 'lumen'}.png`;
  link.click();
}

function setFollow(on: boolean) {
  $<HTMLInputElement>('follow').checked = scene.follow = on;
  if (on) showFrame();
  else scene.fit();
}

const layers = ['points', 'surface', 'path', 'keyframes', 'truth'] as const;
for (const layer of layers) {
  $<HTMLInputElement>(`show-${layer}`).onchange = (event) => {
    scene.groups[layer].visible = (event.target as HTMLInputElement).checked;
    if (layer === 'truth' && state.info?.truth_surface && !meshes.truth) {
      meshes.truth = true;
      void loadMesh('/truth.bin', true);
    }
    scene.touch();
  };
}
$<HTMLInputElement>('follow').onchange = (event) => setFollow((event.target as HTMLInputElement).checked);
$('fit').onclick = () => scene.fit();
$('save').onclick = savePicture;
$('play').onclick = play;
$('help-button').onclick = () => $<HTMLDialogElement>('help').showModal();
$('theme').onclick = () => setTheme(document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');

let down: [number, number] = [0, 0];
$('view').addEventListener('pointerdown', (event) => (down = [event.clientX, event.clientY]));
$('view').addEventListener('click', (event) => {
  if (Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4) return; // a drag
  const keyframe = scene.pick(event.clientX, event.clientY);
  if (keyframe) choose(keyframe);
});

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const step = event.shiftKey ? 10 : 1;
  const layer = layers[Number(event.key) - 1];
  const actions: Record<string, () => void> = {
    ' ': play, ArrowLeft: () => seek(position - step), ArrowRight: () => seek(position + step), Home: () => seek(0),
    End: () => seek(state.frames.length - 1), c: () => setFollow(!scene.follow), f: () => scene.fit(), s: savePicture,
    d: () => $('theme').click(), '?': () => $('help-button').click(), Escape: () => choose(null),
  };
  const action = layer ? () => $(`show-${layer}`).click() : actions[event.key.length === 1 ? event.key.toLowerCase() : event.key];
  if (!action) return;
  event.preventDefault();
  action();
});

// For tests: where a keyframe is on the screen.
(window as any).lumenPlaces = () => [...state.keyframes.values()].map((keyframe) => ({ frame: keyframe.frame, at: scene.place(keyframe) }));

setTheme(matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
connect();
