// The page in a real browser, with WebGL in software. Usage: node test/page.mjs BIN_FOLDER [SCREENSHOT_FOLDER]
// Looks at the canvas's pixels, not only at the document. Exits with 77 where there is nothing to test with.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const OVERALL_MS = 300000, WAIT_MS = 45000;
const [bin, shots] = process.argv.slice(2);
const children = new Set();
const errors = [];
let folder = '';

// However it ends, no program is left running: interrupted, too, where Playwright would end the process by itself.
process.on('exit', () => {
  for (const child of children) child.kill('SIGKILL');
  if (folder) rmSync(folder, { recursive: true, force: true });
});
for (const [signal, number] of [['SIGHUP', 1], ['SIGINT', 2], ['SIGTERM', 15]]) process.on(signal, () => process.exit(128 + number));

function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

setTimeout(() => {
  console.error(`not done after ${OVERALL_MS / 1000} s`);
  process.exit(1);
}, OVERALL_MS).unref();

// Starts a program that prints the view's address.
function serve(command, args) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  children.add(child);
  const url = new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
      const found = text.match(/view: (\S+)/);
      if (found) resolve(found[1]);
    });
    child.on('error', reject);
    child.on('exit', () => reject(new Error(`${command} ended: ${text}`)));
  });
  return { child, url };
}

// Ways to draw without a graphics card. Each fails on some machines (processors that hide instructions from
// one compiler or the other), so the first one that survives a drawing is taken.
const WAYS = [
  { name: 'SwiftShader', args: ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'], env: {} },
  { name: 'Mesa', args: ['--use-angle=gl-egl'], env: { LIBGL_ALWAYS_SOFTWARE: '1', EGL_PLATFORM: 'surfaceless' } },
];

async function launch(chromium, url) {
  const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
  if (!executablePath) skip('there is no Chromium');
  for (const { name, args, env } of WAYS) {
    const browser = await chromium.launch({
      executablePath, env: { ...process.env, ...env }, timeout: 60000,
      args: ['--no-sandbox', '--use-gl=angle', '--ignore-gpu-blocklist', ...args],
    });
    const page = await browser.newPage({ viewport: { width: 600, height: 400 } });
    let lost = false;
    page.on('console', (message) => (lost ||= /context.lost/i.test(message.text())));
    await page.goto(url);
    await waitFor(page, () => document.body.dataset.surface === 'shown').catch(() => {});
    await page.waitForTimeout(2000);
    const drawn = lost ? 0 : (await countPixels(page)).drawn;
    await page.close();
    if (!lost && drawn > 0) {
      console.log(`drawing with ${name}`);
      return browser;
    }
    console.log(`${name} does not draw here`);
    await browser.close();
  }
  skip('no way to draw WebGL in software works on this machine');
}

// How many pixels of the scene differ from its background, and how many are reddish, as tissue is.
const countPixels = (page) =>
  page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    const view = document.getElementById('view'), copy = document.createElement('canvas');
    copy.width = view.width;
    copy.height = view.height;
    const context = copy.getContext('2d');
    context.drawImage(view, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    const back = [data[0], data[1], data[2]], near = (i, c) => Math.abs(data[i] - c[0]) + Math.abs(data[i + 1] - c[1]) + Math.abs(data[i + 2] - c[2]) < 60;
    const counts = { all: data.length / 4, drawn: 0, tissue: 0, path: 0, loop: 0, missed: 0 };
    for (let i = 0; i < data.length; i += 4) {
      if (!near(i, back)) ++counts.drawn;
      if (data[i] > data[i + 1] + 30 && data[i] > data[i + 2] + 30) ++counts.tissue;
      if (near(i, [59, 167, 255])) ++counts.path;
      if (near(i, [224, 92, 255])) ++counts.loop;
      if (data[i] > 110 && data[i + 1] < 0.42 * data[i] && data[i + 2] < 0.3 * data[i]) ++counts.missed;
    }
    return counts;
  });
const pixelsOf = (page, id) => page.evaluate((name) => document.getElementById(name).toDataURL(), id);
const colorsOf = (page, id) =>
  page.evaluate((name) => {
    const canvas = document.getElementById(name), { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
    return new Set(new Uint32Array(data.buffer)).size;
  }, id);
const set = (page, layer, on) => page.locator(`#show-${layer}`).setChecked(on);
// Asks again and again from outside: the page's own rules forbid what waitForFunction does inside it.
async function waitFor(page, condition, argument) {
  for (const end = Date.now() + WAIT_MS; Date.now() < end; await page.waitForTimeout(25))
    if (await page.evaluate(condition, argument).catch(() => false)) return;
  throw new Error(`never came true: ${condition} ${argument ?? ''}`);
}
const waitForFrame = (page, frame) => waitFor(page, (wanted) => document.body.dataset.frame === wanted && document.body.dataset.picture === wanted, String(frame));

async function openPage(browser, url) {
  const page = await browser.newPage({ viewport: { width: 1366, height: 768 }, colorScheme: 'light' });
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    // A server that is gone is what the last step is about.
    if (message.type() === 'error' && !/ERR_CONNECTION_REFUSED|WebSocket connection/.test(message.text())) errors.push(message.text());
  });
  page.on('request', (request) => {
    if (!/^(http|ws):\/\/127\.0\.0\.1|^data:|^blob:/.test(request.url())) errors.push(`asked the network: ${request.url()}`);
  });
  await page.goto(url);
  return page;
}

async function shoot(page, name) {
  if (!shots) return;
  await page.waitForTimeout(400);
  await page.screenshot({ path: join(shots, name) });
}

async function layersAreSeen(page) {
  await set(page, 'truth', false);
  const surface = await countPixels(page);
  assert(surface.tissue > 0.02 * surface.all, `a surface is seen: ${JSON.stringify(surface)}`);
  for (const layer of ['surface', 'keyframes']) await set(page, layer, false);
  const path = await countPixels(page);
  assert(path.path > 50, `the path is seen: ${JSON.stringify(path)}`);
  assert(path.tissue < 0.2 * surface.tissue, 'and no surface any more');
  await set(page, 'path', false);
  const nothing = await countPixels(page);
  assert(nothing.drawn < 20, `nothing is left: ${JSON.stringify(nothing)}`);
  await set(page, 'truth', true);
  const truth = await countPixels(page);
  assert(truth.drawn > 50, `the true path is seen: ${JSON.stringify(truth)}`);
  await set(page, 'truth', false);
  await set(page, 'keyframes', true);
  const keyframes = await countPixels(page);
  assert(keyframes.drawn > 200 && keyframes.loop > 5, `keyframes and a loop are seen: ${JSON.stringify(keyframes)}`);
  await set(page, 'keyframes', false);
  await set(page, 'points', true);
  const points = await countPixels(page);
  assert(points.tissue > 0.01 * points.all, `points are seen: ${JSON.stringify(points)}`);
  await set(page, 'points', false);
  for (const layer of ['surface', 'path', 'keyframes', 'truth']) await set(page, layer, true);
  await page.keyboard.press('6');
  // A large mesh takes a busy machine a while to load and to draw.
  let whole = 0;
  for (let tries = 0; tries < 40 && whole <= 1.2 * surface.drawn; ++tries) {
    await page.waitForTimeout(500);
    whole = (await countPixels(page)).drawn;
  }
  assert(whole > 1.2 * surface.drawn, `the true surface is seen around it all: ${whole} of ${surface.drawn}`);
  await page.keyboard.press('6');
}

async function scrubbing(page) {
  await page.keyboard.press('Home');
  await waitForFrame(page, 0);
  const first = await pixelsOf(page, 'picture'), firstDepth = await pixelsOf(page, 'depth');
  const box = await page.locator('#timeline').boundingBox(), at = (share) => box.x + 6 + share * (box.width - 12);
  await page.mouse.click(at(0.75), box.y + box.height / 2);
  await waitForFrame(page, 35);
  assert.notEqual(await pixelsOf(page, 'picture'), first, 'scrubbing changes the frame');
  assert.notEqual(await pixelsOf(page, 'depth'), firstDepth, '… and its depth');
  await page.mouse.click(at(21 / 47), box.y + box.height / 2);
  assert.equal(await page.textContent('#state'), 'lost');
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  await waitForFrame(page, 1);
  await page.keyboard.press(' ');
  await waitFor(page, () => Number(document.body.dataset.frame) > 8);
  await page.keyboard.press('End');
}

async function openingAKeyframe(page) {
  const places = await page.evaluate(() => window.lumenPlaces());
  const loop = places.find((place) => place.frame === 42);
  await page.mouse.click(loop.at[0], loop.at[1]);
  await page.waitForSelector('#keyframe:not([hidden])', { timeout: WAIT_MS });
  assert.match(await page.textContent('#keyframe-title'), /frame \d+/);
  await page.keyboard.press('Escape');
  assert(await page.locator('#keyframe').isHidden());
  await page.keyboard.press('End');
  await page.keyboard.press('['); // the last keyframe before the end
  await waitFor(page, () => document.body.dataset.keyframe === '42');
  await page.waitForSelector('#match:not([hidden])', { timeout: WAIT_MS });
  for (const id of ['keyframe-picture', 'keyframe-depth', 'keyframe-features', 'match-picture'])
    assert((await colorsOf(page, id)) > 50, `${id} shows something`);
  assert.deepEqual(await page.locator('#connections button').allTextContents(), ['6', '36'], 'the loop first, then its neighbour');
  await shoot(page, 'view-keyframe.png');
  await page.keyboard.press('Escape');
}

async function restOfThePage(page, url) {
  const dark = async () => (await page.screenshot({ clip: { x: 700, y: 5, width: 1, height: 1 } })).toString('base64');
  const light = await dark();
  await page.keyboard.press('d');
  assert.notEqual(await dark(), light, 'dark is not light');
  await shoot(page, 'view-dark.png');
  await page.keyboard.press('?');
  assert(await page.locator('#help').isVisible());
  await page.keyboard.press('Escape');
  await page.keyboard.press('Home');
  await page.keyboard.press('c');
  const follow = await countPixels(page);
  assert(follow.tissue > 0.05 * follow.all, `inside, tissue is all around: ${JSON.stringify(follow)}`);
  await shoot(page, 'view-follow.png');
  await page.keyboard.press('c');
  const [saved] = await Promise.all([page.waitForEvent('download', { timeout: WAIT_MS }), page.keyboard.press('s')]);
  assert.equal(saved.suggestedFilename(), 'run.png');
  for (const name of ['surface.ply', 'frames.tum', 'keyframes.tum']) {
    const [file] = await Promise.all([page.waitForEvent('download', { timeout: WAIT_MS }), page.click(`a[title="${name}"]`)]);
    assert.equal(file.suggestedFilename(), name);
  }
  for (let i = 0; i < 12; ++i) await page.keyboard.press('ArrowRight');
  await waitForFrame(page, 12);
  await page.reload();
  await waitForFrame(page, 12);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark', 'a reload keeps the theme');
  for (const { width, height } of [{ width: 1366, height: 768 }, { width: 1024, height: 700 }]) {
    await page.setViewportSize({ width, height });
    assert(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight), `nothing sticks out at ${width}`);
  }
  const second = await openPage(page.context().browser(), url);
  await waitFor(second, () => Number(document.body.dataset.keyframes) === 8);
  await second.close();
}

// What was not seen: told in words, drawn in red, a click away from the frame to go back to.
async function coverageIsShown(page) {
  await waitFor(page, () => document.body.dataset.wall === '1' && document.body.dataset.spots === '1');
  assert.match(await page.textContent('#coverage-words'), /^Along .* % of the wall were seen/);
  assert.equal(await page.evaluate(() => document.body.dataset.colors), 'picture');
  const before = await countPixels(page);
  await page.keyboard.press('k'); // this run does not tell how sure it is
  assert.equal(await page.evaluate(() => document.body.dataset.colors), 'seen');
  const colored = await countPixels(page);
  assert(colored.missed > before.missed + 200, `what was not seen is drawn: ${JSON.stringify([before, colored])}`);
  await shoot(page, 'view-seen.png');
  await page.keyboard.press('Home');
  const words = await page.textContent('#spots button');
  await page.click('#spots button');
  await waitForFrame(page, Number(words.match(/frame (\d+)/)[1]));
  await page.keyboard.press('k');
  assert.equal(await page.evaluate(() => document.body.dataset.colors), 'picture');
  await page.keyboard.press('Home');
}

async function finishedRun(browser, url) {
  const page = await openPage(browser, url);
  await waitFor(page, () => document.body.dataset.surface === 'shown' && Number(document.body.dataset.keyframes) === 8);
  await page.mouse.move(1, 1);
  await layersAreSeen(page);
  await scrubbing(page);
  await openingAKeyframe(page);
  await coverageIsShown(page);
  await shoot(page, 'view-light.png');
  await restOfThePage(page, url);
  await page.close();
}

// The same run laid into a "CT": its own surface as the wall, in the map's own frame, and a volume around it.
function layIntoCt(name, confident) {
  const run = join(folder, name), registration = join(run, 'registration');
  cpSync(join(folder, 'run'), run, { recursive: true });
  mkdirSync(registration);
  for (const mesh of ['wall.ply', 'residual.ply']) cpSync(join(run, 'surface.ply'), join(registration, mesh));
  const size = 24, voxels = Buffer.alloc(2 * size ** 3);
  for (let i = 0; i < size ** 3; ++i) voxels.writeInt16LE(i % 3 ? -1000 : 300, 2 * i);
  const head = ['ObjectType = Image', 'NDims = 3', 'BinaryData = True', 'BinaryDataByteOrderMSB = False', 'Offset = -12 -12 -12', 'ElementSpacing = 1 1 1', `DimSize = ${size} ${size} ${size}`, 'ElementType = MET_SHORT', 'ElementDataFile = LOCAL', ''];
  writeFileSync(join(folder, 'ct.mha'), Buffer.concat([Buffer.from(head.join('\n')), voxels]));
  const transform = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]];
  writeFileSync(join(registration, 'registration.json'), JSON.stringify({ status: 'registered', confident, words: 'in cavity 1', doubts: [], transform, model: join(folder, 'ct.mha') }));
  writeFileSync(join(folder, 'points.csv'), 'name,x,y,z\nfar,500,0,0\nnear,1,2,3\n');
  return serve(join(bin, 'lumen'), ['view', run, '--targets', join(folder, 'points.csv'), '--port', '0']).url;
}

async function runInACt(browser) {
  const page = await openPage(browser, await layIntoCt('in-ct', true));
  await waitFor(page, () => document.body.dataset.ct === 'registered' && document.body.dataset.ctwall && document.body.dataset.ctsurface && document.body.dataset.axial);
  assert(await page.locator('#ct').isVisible(), 'a CT is shown before the map');
  await page.keyboard.press('Home');
  await waitForFrame(page, 0);
  await waitFor(page, () => document.body.dataset.tip !== '' && document.body.dataset.virtual === 'true');
  assert((await colorsOf(page, 'ct-virtual')) > 50, 'the CT is seen from where the scope is');
  assert((await colorsOf(page, 'ct-real')) > 50);
  for (const axis of ['axial', 'coronal', 'sagittal']) assert((await colorsOf(page, `ct-${axis}`)) > 3, `${axis} shows something`);
  assert.deepEqual(await page.locator('#ct-target-list span').allTextContents(), ['near', 'far'], 'the nearest first');
  const [tip, told] = await page.evaluate(() => [document.body.dataset.tip.split(' ').map(Number), document.querySelector('#ct-target-list b').textContent]);
  assert(Math.abs(parseFloat(told) - Math.hypot(tip[0] - 1, tip[1] - 2, tip[2] - 3)) < 0.2, `${told} from ${tip}`);
  await shoot(page, 'view-ct.png');
  const first = await pixelsOf(page, 'ct-virtual');
  await page.keyboard.press('End');
  await waitFor(page, (before) => document.getElementById('ct-virtual').toDataURL() !== before, first);
  await page.mouse.click(...(await page.locator('#ct-axial').boundingBox().then((box) => [box.x + box.width / 3, box.y + box.height / 3])));
  await page.locator('#ct-follow').waitFor({ state: 'visible' }); // a click on a slice looks elsewhere, with the next drawing
  assert(await page.locator('#ct-point').isHidden(), 'a run that is over has no use for a hint');
  await page.keyboard.press('t');
  assert(await page.locator('#scene').isVisible());
  await page.close();
  const doubtful = await openPage(browser, await layIntoCt('perhaps-in-ct', false));
  await waitFor(doubtful, () => document.body.dataset.ct === 'doubtful' && document.body.dataset.ctwall);
  assert.equal(await doubtful.evaluate(() => document.body.dataset.tip), '', 'a doubtful place is none');
  assert.equal(await doubtful.evaluate(() => document.body.dataset.ctsurface), undefined);
  assert.deepEqual(await doubtful.locator('#ct-target-list b').allTextContents(), ['–', '–']);
  await doubtful.close();
}

async function liveRun(browser) {
  const { child, url } = serve(join(bin, 'lumen_live_stage'), []);
  const page = await openPage(browser, await url);
  await waitFor(page, () => document.body.dataset.live === 'true');
  // Within a second, unless the machine is busy with something else: the best of some tries counts.
  let frames = 20, best = Infinity;
  child.stdin.write('frames 20\n');
  await waitFor(page, () => document.body.dataset.frames === '20' && document.body.dataset.clouds === '4');
  for (let tries = 0; tries < 6 && best > 1000; ++tries) {
    const told = Date.now();
    child.stdin.write('frames 1\n');
    await waitFor(page, (count) => document.body.dataset.frames === String(count), ++frames);
    best = Math.min(best, Date.now() - told);
  }
  console.log(`a live frame was on the page after ${best} ms`);
  assert(best <= 1000, 'a live run is on the page within a second');
  const before = await countPixels(page);
  assert(before.tissue > 0.005 * before.all, `points of a live run are seen: ${JSON.stringify(before)}`);
  await shoot(page, 'view-live.png');
  await page.reload();
  await waitFor(page, (count) => document.body.dataset.frames === String(count) && document.body.dataset.clouds === '4', frames);
  await page.waitForTimeout(500);
  const after = await countPixels(page);
  assert(after.tissue > 0.5 * before.tissue, `a reload restores the state: ${JSON.stringify([before, after])}`);
  child.stdin.end();
  await waitFor(page, () => document.body.dataset.connected === 'false');
  assert.equal(await page.textContent('#state'), 'not connected');
  await page.close();
}

// SLAM itself, watched to its end: one address, first live, then the finished run.
async function watchedRun(browser) {
  const { child, url } = serve(join(bin, 'lumen'), ['run', join(folder, 'sequence'), '--out', join(folder, 'watched'), '--refine', '--view', '--port', '0']);
  const page = await openPage(browser, await url);
  await waitFor(page, () => document.body.dataset.live === 'true' && Number(document.body.dataset.frames) > 5 && Number(document.body.dataset.clouds) > 0);
  await waitFor(page, () => document.body.dataset.live === 'false' && document.body.dataset.connected === 'true' && document.body.dataset.surface === 'shown');
  assert.equal(await page.evaluate(() => document.body.dataset.frames), '48');
  const pixels = await countPixels(page);
  assert(pixels.tissue > 0.01 * pixels.all && pixels.path > 20, `the run's surface and path are seen: ${JSON.stringify(pixels)}`);
  assert.equal(await page.locator('#downloads a').count(), 3);
  await page.close();
  const ended = new Promise((resolve) => child.on('exit', resolve));
  child.kill('SIGINT');
  assert.equal(await ended, 0, 'Ctrl-C ends the view, and all is well');
}

let browser;
try {
  const playwright = await import('playwright-core').catch(() => skip('playwright-core is not there (npm ci in web/ brings it)'));
  folder = mkdtempSync(join(tmpdir(), 'lumen-page-'));
  execFileSync(join(bin, 'lumen_make_run'), [folder], { timeout: 120000 });
  const { url } = serve(join(bin, 'lumen'), ['view', join(folder, 'run'), '--port', '0']);
  if (!(await (await fetch(await url)).text()).includes('assets/page.js')) skip('this build has no page inside');
  browser = await launch(playwright.chromium, await url);
  await finishedRun(browser, await url);
  await runInACt(browser);
  await liveRun(browser);
  await watchedRun(browser);
  assert.deepEqual(errors, [], 'no errors on the console');
  console.log('the page is as it should be');
} catch (error) {
  console.error(error);
  if (errors.length) console.error('on the console:', errors);
  process.exitCode = 1;
} finally {
  await Promise.race([browser?.close(), new Promise((resolve) => setTimeout(resolve, 5000).unref())]);
}
process.exit(process.exitCode ?? 0);
