// A long live run with its view open in a browser that reloads: does it stay as it is after the first minutes?
// Usage: node test/soak.mjs BIN_FOLDER OUT_FOLDER [MINUTES]
// The video is simulated, played over and over, each time with something else wrong with it or nothing, and
// handed in at the pace of a camera. Memory, threads and open files are looked at every ten seconds and written
// to OUT_FOLDER/soak.csv; the run's folder lies beside it. Exits with 1 if something grew that should not.
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join, resolve } from 'node:path';

const [bin, out, minutes = '60'] = process.argv.slice(2);
if (!bin || !out) {
  console.error('usage: node test/soak.mjs BIN_FOLDER OUT_FOLDER [MINUTES]');
  process.exit(2);
}
const lumen = join(resolve(bin), 'lumen'), folder = resolve(out);
const FPS = 15, KEYFRAMES = 60, FRAMES = 300, RELOAD_S = 45, SAMPLE_S = 10;
const LONGEST_DELAY_MS = 1000;  // as docs/reliability.md promises
const seconds = 60 * Number(minutes);
const WRONG = ['', '', '', 'smoke:3', 'motion-blur:3', 'overexposure:3', 'underexposure:3', 'bubbles:3', 'smudge:3', 'blackout:2', 'jump:2', 'dropped-frames:2'];

// A small generator of its own, so that the same hour can be had again.
let state = 20260101;
const random = () => (state = (state * 1103515245 + 12345) % 2147483648) / 2147483648;
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

// One folder of pictures: links to those of the simulated loops, in the order in which they are played.
function makeVideo() {
  const loops = [], pictures = join(folder, 'video');
  for (const [i, wrong] of WRONG.entries()) {
    const loop = join(folder, `loop-${i}`);
    if (wrong === '' && i > 0) continue;
    if (!existsSync(loop))
      execFileSync(lumen, ['-q', 'simulate', loop, '--anatomy', 'colon', '--seed', '77', '--frames', String(FRAMES), '--no-model', ...(wrong ? ['--degrade', wrong] : [])]);
    loops[i] = loop;
  }
  rmSync(pictures, { recursive: true, force: true });
  mkdirSync(pictures);
  for (let frame = 0; frame < seconds * FPS;) {
    const loop = loops[Math.floor(random() * WRONG.length)] ?? loops[0];
    for (const name of readdirSync(join(loop, 'rgb')).sort())
      symlinkSync(join(loop, 'rgb', name), join(pictures, `${String(frame++).padStart(7, '0')}.png`));
  }
  return { pictures, calibration: join(loops[0], 'sequence.toml') };
}

function look(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const number = (name) => Number(status.match(new RegExp(`${name}:\\s+(\\d+)`))[1]);
  return { memory: number('VmRSS') / 1024, threads: number('Threads'), files: readdirSync(`/proc/${pid}/fd`).length };
}

// Opens the page, turns to it again and again, and reloads it. Counts what went wrong in it.
async function browse(url, seen, ended) {
  const { chromium } = await import('playwright-core');
  const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
  if (!executablePath) return console.log('there is no Chromium: the view is open, and nobody looks');
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'] });
  while (!ended()) {
    // Now and then a new page, which leaves the old connection without a word.
    const page = await browser.newPage({ viewport: { width: 640, height: 480 } });
    page.on('pageerror', (error) => seen.errors.push(String(error)));
    await page.goto(url, { timeout: 120000 });
    for (let reload = 0; reload < 5 && !ended(); ++reload) {
      for (const end = Date.now() + RELOAD_S * 1000; Date.now() < end && !ended();) await sleep(500);
      seen.frame = await page.evaluate(() => document.body.dataset.frame ?? '').catch(() => '');
      if (!ended()) await page.reload({ timeout: 120000 }).catch((error) => seen.errors.push(String(error)));
      ++seen.reloads;
    }
    await page.close();
  }
  await browser.close();
}

mkdirSync(folder, { recursive: true });
const { pictures, calibration } = makeVideo();
const run = join(folder, 'run');
rmSync(run, { recursive: true, force: true });
const child = spawn(lumen, ['run', pictures, '--calibration', calibration, '--fps', String(FPS), '--realtime', '--view', '--port', '0', '--no-surface', '--device', 'cpu', '--set', `map.most_keyframes=${KEYFRAMES}`, '--out', run], { stdio: ['ignore', 'pipe', 'pipe'] });
let ended = false, said = '';
child.stderr.on('data', (data) => (said = (said + data).slice(-4000)));
setPriority(10);  // of the browser to come: on most desks it runs on another machine
const exit = new Promise((done) => child.on('exit', (code) => { ended = true; done(code); }));
const url = await new Promise((found) => {
  let text = '';
  child.stdout.on('data', (data) => {
    text += data;
    const match = text.match(/view: (\S+)/);
    if (match) found(match[1]);
  });
  exit.then(() => found(''));
});
const seen = { errors: [], reloads: 0, frame: '' }, samples = [];
const browsing = url ? browse(url, seen, () => ended).catch((error) => seen.errors.push(String(error))) : null;
const start = Date.now();
while (!ended && (Date.now() - start) / 1000 < seconds - SAMPLE_S) {
  await sleep(SAMPLE_S * 1000);
  if (!ended) samples.push({ second: Math.round((Date.now() - start) / 1000), ...look(child.pid) });
  writeFileSync(join(folder, 'soak.csv'), ['second,memory_mb,threads,open_files', ...samples.map((s) => `${s.second},${s.memory.toFixed(1)},${s.threads},${s.files}`)].join('\n') + '\n');
}
child.kill('SIGINT');
const code = await exit;
await browsing;

const summary = JSON.parse(readFileSync(join(run, 'summary.json'), 'utf8'));
const mean = (part, key) => part.reduce((sum, s) => sum + s[key], 0) / part.length;
// The map reaches its bound within the first loops; from a quarter of the time on nothing may grow.
const early = samples.slice(Math.floor(samples.length * 0.25), Math.floor(samples.length * 0.35));
const late = samples.slice(Math.floor(samples.length * 0.9));
const growth = 100 * (mean(late, 'memory') / mean(early, 'memory') - 1);
const most = (part, key) => Math.max(...part.map((s) => s[key]));
const rows = [
  ['minutes', ((Date.now() - start) / 60000).toFixed(1)],
  ['frames, placed, dropped', `${summary.frames}, ${summary.placed}, ${summary.dropped}`],
  ['lost and found again', `${summary.lost_events}, ${summary.relocalised}`],
  ['keyframes in the map, retired', `${summary.keyframes}, ${summary.retired_keyframes}`],
  ['memory after a quarter of the time, at the end (MB)', `${mean(early, 'memory').toFixed(1)}, ${mean(late, 'memory').toFixed(1)} (${growth.toFixed(2)} %)`],
  ['threads then, at the end', `${most(early, 'threads')}, ${most(late, 'threads')}`],
  ['open files then, at the end', `${most(early, 'files')}, ${most(late, 'files')}`],
  ['delay of a frame: median, 95 %, worst (ms)', ['median', 'p95', 'worst'].map((key) => summary.delay_ms[key].toFixed(0)).join(', ')],
  ['reloads of the page, faults in it', `${seen.reloads}, ${seen.errors.length}`],
  ['exit code after Ctrl-C', code],
];
for (const [name, value] of rows) console.log(`${name.padEnd(54)} ${value}`);
for (const error of seen.errors.slice(0, 5)) console.log(error);
const wrong = [];
if (growth >= 1) wrong.push('memory grew');
if (most(late, 'threads') > most(early, 'threads')) wrong.push('threads were left');
if (most(late, 'files') > most(early, 'files') + 2) wrong.push('files were left open');
if (summary.delay_ms.worst > LONGEST_DELAY_MS) wrong.push('a frame came later than promised');
if (code !== 130) wrong.push(`it ended with ${code}: ${said}`);
if (seen.errors.length) wrong.push('the page had faults');
console.log(wrong.length ? `FAILED: ${wrong.join('; ')}` : 'passed');
process.exit(wrong.length ? 1 : 0);
