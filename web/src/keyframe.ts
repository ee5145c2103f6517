// The panel of one keyframe: its image, depth and features, what it is connected to, and how it matches that.
import { drawDepth, drawRgb } from './depth';
import { Edge, Keyframe, State } from './state';

const $ = <T extends HTMLElement = HTMLElement>(id: string) => document.getElementById(id) as T;
const KINDS = ['neighbour', 'local loop', 'loop'];

function loadImage(address: string): Promise<HTMLImageElement | null> {
  return new Promise((resolve) => {
    const image = new Image();
    image.onload = () => resolve(image);
    image.onerror = () => resolve(null);
    image.src = address;
  });
}

function drawImage(canvas: HTMLCanvasElement, image: HTMLImageElement) {
  canvas.width = image.width;
  canvas.height = image.height;
  canvas.getContext('2d')!.drawImage(image, 0, 0);
}

export class KeyframePanel {
  private shown: number | null = null; // the keyframe's id
  private matched = -1; // the frame of the other one

  constructor(private state: State) {}

  show(keyframe: Keyframe | null) {
    $('keyframe').hidden = !keyframe;
    const fresh = keyframe?.id !== this.shown;
    this.shown = keyframe?.id ?? null;
    if (!keyframe) return;
    this.showText(keyframe);
    if (!fresh) return;
    this.matched = -1;
    $('match').hidden = true;
    document.body.dataset.keyframe = '';
    void this.showPictures(keyframe);
    const first = this.state.connectionsOf(keyframe.id)[0];
    if (first) void this.showMatches(keyframe, first.to);
  }

  private showText(keyframe: Keyframe) {
    const cloud = this.state.clouds.get(keyframe.id), connections = this.state.connectionsOf(keyframe.id);
    const loops = connections.filter(({ kind }) => kind !== Edge.Temporal).length;
    $('keyframe-title').textContent = `keyframe at frame ${keyframe.frame}`;
    let text = '';
    if (cloud) {
      drawDepth($<HTMLCanvasElement>('keyframe-depth'), cloud.depth, cloud.width, cloud.height);
      const known = cloud.depth.reduce((sum, d) => sum + (d > 0 ? 1 : 0), 0);
      text = `${Math.round((100 * known) / cloud.depth.length)} % of its pixels have depth. `;
    }
    $('keyframe-text').textContent = text + (connections.length ? `Connected to ${connections.length} keyframes, ${loops} of them by loops:` : 'Not connected to any other.');
    $('connections').replaceChildren(
      ...connections.map(({ to, kind }) => {
        const button = document.createElement('button');
        button.textContent = String(to.frame);
        button.title = KINDS[kind];
        button.className = `${kind === Edge.Temporal ? '' : 'loop'} ${to.frame === this.matched ? 'on' : ''}`;
        button.onclick = () => void this.showMatches(keyframe, to);
        return button;
      }),
    );
  }

  private async showPictures(keyframe: Keyframe) {
    const cloud = this.state.clouds.get(keyframe.id);
    if (cloud) drawRgb($<HTMLCanvasElement>('keyframe-picture'), cloud.rgb, cloud.width, cloud.height);
    const features = $<HTMLCanvasElement>('keyframe-features');
    features.getContext('2d')!.clearRect(0, 0, features.width, features.height);
    const [picture, painted] = await Promise.all([loadImage(`/frame/${keyframe.frame}.png`), this.state.info?.features ? loadImage(`/features/${keyframe.frame}.png`) : null]);
    if (this.shown !== keyframe.id) return;
    if (picture) drawImage($<HTMLCanvasElement>('keyframe-picture'), picture);
    if (painted) drawImage(features, painted);
    document.body.dataset.keyframe = String(keyframe.frame);
  }

  // Both pictures side by side, with a line for every match.
  private async showMatches(keyframe: Keyframe, to: Keyframe) {
    this.matched = to.frame;
    this.showText(keyframe);
    if (!this.state.info?.features) return;
    const answer = await fetch(`/matches/${keyframe.frame}/${to.frame}.json`);
    if (!answer.ok || this.shown !== keyframe.id || this.matched !== to.frame) return;
    const { tried, matches } = (await answer.json()) as { tried: number; matches: number[][] };
    const images = await Promise.all([loadImage(`/frame/${keyframe.frame}.png`), loadImage(`/frame/${to.frame}.png`)]);
    const camera = this.state.info?.camera;
    if (!images[0] || !images[1] || !camera || this.shown !== keyframe.id || this.matched !== to.frame) return;
    const canvas = $<HTMLCanvasElement>('match-picture'), width = 320, height = Math.round((width * camera.height) / camera.width), scale = width / camera.width;
    canvas.width = 2 * width;
    canvas.height = height;
    const context = canvas.getContext('2d')!;
    images.forEach((image, i) => context.drawImage(image!, i * width, 0, width, height));
    matches.forEach(([u, v, u2, v2], i) => {
      context.strokeStyle = context.fillStyle = `hsl(${(i * 47) % 360} 90% 65% / 75%)`;
      const x = (u + 0.5) * scale, y = (v + 0.5) * scale, x2 = width + (u2 + 0.5) * scale, y2 = (v2 + 0.5) * scale;
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(x2, y2);
      context.stroke();
      context.fillRect(x - 2, y - 2, 4, 4);
      context.fillRect(x2 - 2, y2 - 2, 4, 4);
    });
    $('match').hidden = false;
    $('match-text').textContent = `frames ${keyframe.frame} and ${to.frame}: ${matches.length} of ${tried} points match`;
  }
}
