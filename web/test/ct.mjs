// The numbers behind the CT's panel: places on slices, distances, what counts as a place; and what the server
// sends of them, decoded. Usage: node test/ct.mjs. Exits with 77 where the bundler is not there.
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));
const esbuild = await import('esbuild').catch(() => {
  console.log('skipped: esbuild is not there (npm ci in web/ brings it)');
  process.exit(77);
});
const { outputFiles } = await esbuild.build({
  stdin: { contents: "export * from './ct'; export { State, Kind } from './state';", resolveDir: join(here, '../src'), loader: 'ts' },
  bundle: true, format: 'esm', write: false,
});
const page = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString('base64')}`);
const { Axis, State, byDistance, distance, hintOf, inWords, onSlice, placeOf, placeOn, poseInCt, sizeOf } = page;
const near = (a, b, what) => a.forEach((value, i) => assert(Math.abs(value - b[i]) < 1e-9, `${what}: ${a} is not ${b}`));

const slices = { low: [-50, -60, -70], step: 0.5, size: [200, 240, 280] };
const tests = {
  'a place finds its pixel, and the pixel its place'() {
    const place = [-10, 20, 5.5];
    for (const axis of [Axis.Sagittal, Axis.Coronal, Axis.Axial]) {
      const { plane, u, v, inside } = onSlice(slices, axis, place), [columns, rows] = sizeOf(slices, axis);
      assert(inside && u >= 0 && v >= 0 && u < columns && v < rows);
      near(placeOn(slices, axis, plane, u, v), place, 'there and back');
    }
  },
  'slices lie as radiologists hold them'() {
    const right = onSlice(slices, Axis.Axial, [-40, 0, 0]), left = onSlice(slices, Axis.Axial, [40, 0, 0]);
    assert(right.u < left.u, "the patient's right is on the left");
    assert(onSlice(slices, Axis.Axial, [0, -40, 0]).v < onSlice(slices, Axis.Axial, [0, 40, 0]).v, 'anterior is up');
    for (const axis of [Axis.Sagittal, Axis.Coronal]) assert(onSlice(slices, axis, [0, 0, 40]).v < onSlice(slices, axis, [0, 0, -40]).v, 'superior is up');
  },
  'outside is outside, at the nearest plane'() {
    const { plane, inside } = onSlice(slices, Axis.Axial, [0, 0, 500]);
    assert(!inside);
    assert.equal(plane, 279);
  },
  'a camera of the map in the CT'() {
    const turn = [0, 0, Math.SQRT1_2, Math.SQRT1_2]; // a quarter about z: x becomes y
    const { t, q } = poseInCt({ scale: 10, q: turn, t: [1, 2, 3], submap: -1, number: 1 }, { t: [1, 0, 0], q: [0, 0, 0, 1] });
    near(t, [1, 12, 3], 'its centre');
    near(q, turn, 'its direction');
  },
  'a place is one only while it is believed, and in its own part of the map'() {
    const ct_from_map = { scale: 1, q: [0, 0, 0, 1], t: [0, 0, 0], submap: 2, number: 1 };
    assert.equal(placeOf(null, 2), null);
    for (const status of ['none', 'reading', 'searching', 'doubtful', 'unusable', 'not registered']) assert.equal(placeOf({ status, words: '', ct_from_map }, 2), null, status);
    assert.equal(placeOf({ status: 'registered', words: '', ct_from_map }, 2), ct_from_map);
    assert.equal(placeOf({ status: 'registered', words: '', ct_from_map }, 3), null);
    assert.equal(placeOf({ status: 'registered', words: '', ct_from_map: null }, 2), null);
  },
  'targets by their distance, the nearest first'() {
    const targets = [{ name: 'far', place: [0, 0, 30] }, { name: 'near', place: [3, 4, 0] }];
    assert.equal(distance([0, 0, 0], [3, 4, 0]), 5);
    assert.deepEqual(byDistance(targets, [0, 0, 0]).map(({ target, mm }) => [target.name, mm]), [['near', 5], ['far', 30]]);
    assert.deepEqual(byDistance(targets, null).map(({ target, mm }) => [target.name, mm]), [['far', null], ['near', null]]);
  },
  'places in words, and as the server takes them'() {
    assert.equal(inWords([-12.4, 3, -0.6]), 'R 12, P 3, I 1 mm');
    assert.deepEqual(JSON.parse(hintOf([1.234, -2, 3])), { start: [1.2, -2, 3] });
  },
  'what the server sends is kept'() {
    const text = new TextEncoder(), items = [[11, text.encode(JSON.stringify({ name: 'ct.nii', slices }))], [12, text.encode(JSON.stringify({ status: 'searching', words: 'too little' }))]];
    const padded = (size) => (size + 3) & ~3, bytes = new Uint8Array(16 + items.reduce((sum, [, item]) => sum + 12 + padded(item.length), 0)), view = new DataView(bytes.buffer);
    bytes.set(text.encode('LUM1'));
    view.setUint32(4, items.length, true);
    let at = 16;
    for (const [kind, item] of items) {
      view.setUint32(at, kind, true);
      view.setUint32(at + 8, item.length, true);
      bytes.set(item, at + 12);
      at += 12 + padded(item.length);
    }
    const state = new State();
    assert.deepEqual([...state.apply(bytes.buffer).kinds], [page.Kind.Ct, page.Kind.Navigation]);
    assert.equal(state.ct.slices.step, 0.5);
    assert.equal(state.navigation.status, 'searching');
  },
};
for (const [name, test] of Object.entries(tests)) {
  test();
  console.log(`ok: ${name}`);
}
