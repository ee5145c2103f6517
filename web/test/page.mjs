// The page in a real browser, with WebGL in software. Usage: node test/page.mjs BIN_FOLDER [SCREENSHOT_FOLDER]
// Looks at the canvas's pixels, not only at the document.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execFileSync } from 'node:child_process';
import { chromium } from 'playwright-core';

const [bin, shots] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'lumen-page-'));
const errors = [];

// Starts a program that prints the view's address.
function serve(command, args) {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const url = new Promise((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (data) => {
      text += data;
      const found = text.match(/view: (\S+)/);
      if (found) resolve(found[1]);
    });
    child.on('exit', () => reject(new Error(`${command} ended: ${text}`)));
  });
  return { child, url };
}

// How many pixels of the scene differ from its background, and how many are reddish, as tissue is.
const countPixels = (page) =>
  page.evaluate(async () => {
    await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
    const view = document.getElementById('view'), copy = document.createElement('canvas');
    copy.width = view.width;
    copy.height = view.height;
    const context = copy.getContext('2d');
    context.drawImage(view, 0, 0);
    const { data } = context.getImageData(0, 0, copy.width, copy.height);
    const back = [data[0], data[1], data[2]], near = (i, c) => Math.abs(data[i] - c[0]) + Math.abs(data[i + 1] - c[1]) + Math.abs(data[i + 2] - c[2]) < 60;
    const counts = { all: data.length / 4, drawn: 0, tissue: 0, path: 0, loop: 0 };
    for (let i = 0; i < data.length; i += 4) {
      if (!near(i, back)) ++counts.drawn;
      if (data[i] > data[i + 1] + 30 && data[i] > data[i + 2] + 30) ++counts.tissue;
      if (near(i, [59, 167, 255])) ++counts.path;
      if (near(i, [224, 92, 255])) ++counts.loop;
    }
    return counts;
  });
const pixelsOf = (page, id) => page.evaluate((name) => document.getElementById(name).toDataURL(), id);
const set = (page, layer, on) => page.locator(`#show-${layer}`).setChecked(on);
const waitFor = (page, condition, argument) => page.waitForFunction(condition, argument, { timeout: 20000 });

async function finishedRun(browser) {
  execFileSync(join(bin, 'lumen_make_run'), [folder]);
  const { child, url } = serve(join(bin, 'lumen'), ['view', join(folder, 'run'), '--port', '0']);
  const page = await openPage(browser, await url);
  await waitFor(page, () => document.body.dataset.surface === 'shown' && Number(document.body.dataset.keyframes) === 8);
  const surface = await countPixels(page);
  assert(surface.tissue > 0.02 * surface.all, `a surface is seen: ${JSON.stringify(surface)}`);
  for (const layer of ['surface', 'keyframes']) await set(page, layer, false);
  const path = await countPixels(page);
  assert(path.path > 50, `the path is seen: ${JSON.stringify(path)}`);
  assert(path.tissue < 0.2 * surface.tissue, 'and no surface any more');
  await set(page, 'path', false);
  const nothing = await countPixels(page);
  assert(nothing.drawn < 20, `nothing is left: ${JSON.stringify(nothing)}`);
  await set(page, 'keyframes', true);
  const keyframes = await countPixels(page);
  assert(keyframes.drawn > 200 && keyframes.loop > 5, `keyframes and a loop are seen: ${JSON.stringify(keyframes)}`);
  await set(page, 'keyframes', false);
  await set(page, 'points', true);
  const points = await countPixels(page);
  assert(points.tissue > 0.01 * points.all, `points are seen: ${JSON.stringify(points)}`);
  for (const layer of ['surface', 'path', 'keyframes']) await set(page, layer, true);
  await set(page, 'points', false);

  await page.keyboard.press('Home');
  await waitFor(page, () => document.body.dataset.frame === '0');
  await page.waitForTimeout(300);
  const first = await pixelsOf(page, 'picture'), firstDepth = await pixelsOf(page, 'depth');
  const box = await page.locator('#timeline').boundingBox();
  await page.mouse.click(box.x + 0.75 * box.width, box.y + box.height / 2);
  await waitFor(page, () => document.body.dataset.frame === '35');
  await page.waitForTimeout(300);
  assert.notEqual(await pixelsOf(page, 'picture'), first, 'scrubbing changes the frame');
  assert.notEqual(await pixelsOf(page, 'depth'), firstDepth, '… and its depth');
  await page.mouse.click(box.x + (21 / 47) * box.width, box.y + box.height / 2);
  assert.equal(await page.textContent('#state'), 'lost');

  const places = await page.evaluate(() => window.lumenPlaces());
  const loop = places.find((place) => place.frame === 42);
  await page.mouse.click(loop.at[0], loop.at[1]);
  await page.waitForSelector('#keyframe:not([hidden])', { timeout: 5000 });
  assert.match(await page.textContent('#keyframe-title'), /frame \d+/);
  await shoot(page, 'view-light.png');
  await page.keyboard.press('Escape');
  await page.keyboard.press('d');
  await shoot(page, 'view-dark.png');
  await page.keyboard.press('?');
  assert(await page.locator('#help').isVisible());
  await page.keyboard.press('Escape');
  await page.keyboard.press('c');
  const follow = await countPixels(page);
  assert(follow.tissue > 0.05 * follow.all, `inside, tissue is all around: ${JSON.stringify(follow)}`);
  await shoot(page, 'view-follow.png');

  const second = await openPage(browser, await url);
  await waitFor(second, () => Number(document.body.dataset.keyframes) === 8);
  await second.close();
  child.kill('SIGINT');
  await waitFor(page, () => document.body.dataset.connected === 'false');
  await page.close();
}

async function liveRun(browser) {
  const { child, url } = serve(join(bin, 'lumen_live_stage'), []);
  const page = await openPage(browser, await url);
  await waitFor(page, () => document.body.dataset.live === 'true');
  child.stdin.write('frames 20\n');
  const told = Date.now();
  await waitFor(page, () => document.body.dataset.frames === '20');
  console.log(`a live frame was on the page after ${Date.now() - told} ms`);
  await waitFor(page, () => Number(document.body.dataset.clouds) === 4);
  const before = await countPixels(page);
  assert(before.tissue > 0.005 * before.all, `points of a live run are seen: ${JSON.stringify(before)}`);
  await shoot(page, 'view-live.png');
  await page.reload();
  await waitFor(page, () => document.body.dataset.frames === '20' && document.body.dataset.clouds === '4');
  const after = await countPixels(page);
  assert(after.tissue > 0.5 * before.tissue, 'a reload restores the state');
  child.stdin.end();
  await waitFor(page, () => document.body.dataset.connected === 'false');
  await page.close();
}

async function openPage(browser, url) {
  const page = await browser.newPage({ viewport: { width: 1366, height: 768 } });
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    // A server that is gone is what the last step is about; drivers in software talk of their speed.
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

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync);
const browser = await chromium.launch({
  executablePath,
  args: ['--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader', '--ignore-gpu-blocklist'],
});
try {
  await finishedRun(browser);
  await liveRun(browser);
  assert.deepEqual(errors, [], 'no errors on the console');
  console.log('the page is as it should be');
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}
